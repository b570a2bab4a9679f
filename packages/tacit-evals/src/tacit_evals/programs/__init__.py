"""Measures the time that Tacit adds to the requests of programs: in their SDK (`sdks`), and in the proxy (`proxy`)."""
