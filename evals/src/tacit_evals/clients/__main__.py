"""`python -m tacit_evals.clients`; see `measure`."""

from __future__ import annotations

from tacit_evals.clients.measure import main

raise SystemExit(main())
