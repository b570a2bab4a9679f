"""`python -m tacit_evals.house`."""

from __future__ import annotations

from tacit_evals.house.table import main

if __name__ == "__main__":
    main()
