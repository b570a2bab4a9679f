"""The one client of the daemon: the command line and the library talk to it through this package, standard library only."""
