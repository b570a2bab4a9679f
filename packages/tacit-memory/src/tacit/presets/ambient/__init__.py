"""The `ambient` preset. See the README beside this file."""
