"""What a session teaches: found without a model."""
