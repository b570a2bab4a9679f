"""Today's figure for every goal of the page, the API and the tools: `python -m tacit_evals.goals`; see `__main__.py`."""
