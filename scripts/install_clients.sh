#!/usr/bin/env bash
# Installs the real host clients that the end-to-end tests drive, exact versions, into tests/e2e/clients/node_modules.
set -euo pipefail
cd "$(dirname "$0")/../tests/e2e/clients"

installed() {
    for package in @anthropic-ai/claude-code @github/copilot @google/gemini-cli @openai/codex @opencode-ai/plugin opencode-ai; do
        node -e '
            const [name] = process.argv.slice(1)
            const wanted = require("./package.json").dependencies[name]
            process.exit(require(`./node_modules/${name}/package.json`).version === wanted ? 0 : 1)
        ' "$package" 2>/dev/null || return 1
    done
    for client in claude codex copilot gemini opencode; do
        "node_modules/.bin/$client" --version || return 1
    done
}

installed && exit 0
for attempt in 1 2; do
    if npm install --loglevel=error && installed; then
        exit 0
    fi
    echo "installing the host clients failed (attempt $attempt)" >&2
    rm -rf node_modules
done
exit 1
