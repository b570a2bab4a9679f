"""`python -m tacit_evals.torture.shards`: see `running`."""

from __future__ import annotations

import sys

from tacit_evals.torture.shards.running import main

if __name__ == "__main__":
    sys.exit(main())
