"""`python -m tacit_evals.tool_choice`; see `scoring.py`."""

import sys

from tacit_evals.tool_choice.scoring import main

if __name__ == "__main__":
    sys.exit(main())
