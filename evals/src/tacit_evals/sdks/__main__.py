"""`python -m tacit_evals.sdks`; see `measure.py`."""

from __future__ import annotations

import sys

from tacit_evals.sdks.measure import main

sys.exit(main())
