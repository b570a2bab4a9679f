"""Text as such, for every layer above: tokens, stems, stop words, spelling, and lazy regular expressions."""
