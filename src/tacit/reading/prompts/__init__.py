"""Who speaks in a prompt, and to what: machine-made text, and the proposal that a short answer accepts."""
