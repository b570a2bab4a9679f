"""What a session teaches: found without a model, and in `by_model/` with one of the user's own."""
