"""What programs and agents ask for directly: injection as a library call, answers on demand."""
