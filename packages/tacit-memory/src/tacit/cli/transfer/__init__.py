"""Commands that take memories out and in."""
