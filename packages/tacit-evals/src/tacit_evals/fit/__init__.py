"""Fitting what Tacit ships, from labelled rows, with libraries that the product itself does not need."""
