"""The `typed` preset. See the README beside this file."""
