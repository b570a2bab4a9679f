"""Taking memories out and in: our own files without loss, other tools' as statements that wait for the user."""
