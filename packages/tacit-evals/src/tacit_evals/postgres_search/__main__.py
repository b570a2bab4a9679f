"""Runs the measurement; see `measuring` for its arguments."""

from __future__ import annotations

from tacit_evals.postgres_search.measuring import main

if __name__ == "__main__":
    main()
