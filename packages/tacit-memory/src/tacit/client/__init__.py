"""The client of the daemon, used by the command line and the library. Standard library only."""
