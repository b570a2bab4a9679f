#!/usr/bin/env bash
# Show on recorded sessions what Tacit captures, what it injects, and why. Needs Python 3.11 or newer; installs into `.venv` of this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/uv.sh
echo "Installing Tacit without its web page into .venv ..." >&2
export TACIT_BUILD_WITHOUT_PAGE=1
uv sync --quiet --frozen --inexact --no-default-groups --package tacit-memory
uv run --no-sync tacit demo "$@"
