#!/usr/bin/env bash
# Build the web page into packages/tacit-memory/src/tacit/daemon/static. Needs Node 20.19 or newer; without it everything but `tacit ui` works.
set -euo pipefail
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null; then
    echo "npm is not there, so the page is not built: everything but \`tacit ui\` works without it." >&2
    exit "${1:-0}" # `build_page.sh 1` fails instead
fi
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-fund --no-audit --loglevel=error
    touch node_modules/.package-lock.json
fi
npm run --silent build -- --logLevel warn
echo "built the page into packages/tacit-memory/src/tacit/daemon/static"
