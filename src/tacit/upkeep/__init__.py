"""What keeps the store in shape: reindex, retention."""
