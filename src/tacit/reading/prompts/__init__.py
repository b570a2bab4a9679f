"""The speaker of a prompt: machine-made text, texts of others, and the proposal that a short answer accepts."""
