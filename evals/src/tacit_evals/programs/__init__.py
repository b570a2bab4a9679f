"""What Tacit costs the requests of programs: in their SDK (`sdks`), and in the proxy before them (`proxy`)."""
