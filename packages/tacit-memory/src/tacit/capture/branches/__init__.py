"""Memories that are bound to an unmerged branch: finds out whether the branch was merged or deleted, and changes the memories accordingly."""
