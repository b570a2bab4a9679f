#!/usr/bin/env bash
# Have a Chromium for the tests of the page: the one that is there, else Debian's own, else the driver's.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
root=""
[ "$(id -u)" = 0 ] || root="sudo -n"
if command -v apt-get >/dev/null && $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends chromium fonts-liberation >/dev/null; then
    chromium --version
    exit 0
fi
uv run --no-sync playwright install --with-deps chromium-headless-shell
