"""Direct requests of programs and agents: injection as a library call, answers on demand."""
