"""Text as such, for every room above: regular expressions that are compiled at their first use."""
