"""What the store keeps under names: each value declared once, with its owner, form, retention and fate at a purge."""
