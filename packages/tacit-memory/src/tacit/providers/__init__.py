"""Models and clocks that Tacit uses: embedding, token counting, time. Importing a module here loads no model."""
