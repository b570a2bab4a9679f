"""The command line: reads arguments, asks the daemon, prints. Decides nothing about memories."""
