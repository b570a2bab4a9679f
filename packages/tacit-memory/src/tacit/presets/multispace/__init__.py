"""The `multispace` preset. See the README beside this file."""
