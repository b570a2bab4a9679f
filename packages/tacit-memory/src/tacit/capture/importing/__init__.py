"""Readers for memory files of other tools. Formats are recognized by content; an unreadable line is refused alone."""
