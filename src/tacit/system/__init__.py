"""The operating system: the only package that knows what Linux, macOS and Windows do differently.

`files.py` private files and folders, `locks.py` locks between processes, `processes.py` start, life and end of other
processes, `transport.py` the connection between the daemon and its clients. In: paths, handles, process ids. Out: the same
answers on every system. Standard library only. A module that exists on one system alone is imported where it is used.
The hook client holds its own short form of this, because it imports nothing of `tacit`.
"""
