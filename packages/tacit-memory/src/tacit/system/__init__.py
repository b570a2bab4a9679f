"""The operating system: the only package with code that differs between Linux, macOS and Windows.

`files.py` private files and folders, `locks.py` locks between processes, `processes.py` start, life and end of other
processes, `transport.py` the connection between the daemon and its clients. In: paths, handles, process ids. Out: the same
results on every system. Uses only the standard library. A module that exists only on one system is imported where it is used.
The hook client has its own short version of this code, because it imports nothing of `tacit`.
"""
