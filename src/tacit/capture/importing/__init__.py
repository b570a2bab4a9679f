"""What other tools remember, read from their files: recognised by content, refused line by line where it cannot be read."""
