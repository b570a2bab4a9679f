"""Shell completion: a table of all words made from the commands, and an answer that loads no command."""
