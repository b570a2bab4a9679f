"""Words by themselves: their stems, and the tables of what they announce."""
