#!/usr/bin/env bash
# Build the TypeScript client, its tests and its examples: clients/typescript/dist and build. Needs Node 20 or newer.
set -euo pipefail
cd "$(dirname "$0")/../clients/typescript"

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-fund --no-audit --loglevel=error
    touch node_modules/.package-lock.json
fi
rm -rf dist build
npm run --silent build
