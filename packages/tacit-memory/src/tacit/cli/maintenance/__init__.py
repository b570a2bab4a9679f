"""Commands for looking after what is stored: the review queue, taking back."""
