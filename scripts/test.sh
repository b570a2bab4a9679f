#!/usr/bin/env bash
# Run the fast tests. Needs Python 3.11 or newer; installs into `.venv` of this folder. Arguments go to pytest: `scripts/test.sh packages/tacit-memory/tests/unit/cli`.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE # every process would compile every module anew
source scripts/uv.sh
echo "Installing Tacit and what its tests need into .venv ..." >&2
# The page is not tested here; one that is built is kept.
TACIT_BUILD_WITHOUT_PAGE=1 uv sync --quiet --all-packages --frozen
uv run --no-sync pytest -n 3 --dist worksteal -m "not e2e and not slow" "$@"
