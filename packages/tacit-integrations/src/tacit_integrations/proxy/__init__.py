"""A proxy on loopback between any program and an OpenAI or Anthropic API. `tacit proxy` starts it."""
