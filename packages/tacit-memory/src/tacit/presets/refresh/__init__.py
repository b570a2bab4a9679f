"""The `refresh` preset. See the README beside this file."""
