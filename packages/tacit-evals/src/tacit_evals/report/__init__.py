"""How a scorecard is told: on the terminal, as JSON, as a page with plots, as TREC files."""
