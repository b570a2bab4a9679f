"""The program: see `tacit_evals.searching.measure`."""

from __future__ import annotations

import sys

from tacit_evals.searching.measure import main

if __name__ == "__main__":
    sys.exit(main())
