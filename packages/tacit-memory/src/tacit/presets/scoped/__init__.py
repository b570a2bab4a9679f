"""The `scoped` preset. See the README beside this file."""
