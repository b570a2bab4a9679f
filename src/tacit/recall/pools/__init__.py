"""Where candidates come from besides a search: pinned kinds, and the start pools of the presets."""
