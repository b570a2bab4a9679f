"""Size and shape of the source, also against a commit: `python -m tacit_evals.house`."""
