"""`python -m tacit_evals.torture`: see `home`."""

from __future__ import annotations

from tacit_evals.torture.home import main

if __name__ == "__main__":
    main()
