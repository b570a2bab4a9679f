"""How fast a store answers each kind of search; run `python -m tacit_evals.searching [--rows N]`."""
