"""Language models that name memories: in the pause after the agent's message, and at the prompt."""
