"""The `focused` preset, the default. See the README beside this file."""
