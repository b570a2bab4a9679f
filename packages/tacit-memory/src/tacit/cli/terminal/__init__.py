"""Options, prompts and output of the command line. Independent of any command."""
