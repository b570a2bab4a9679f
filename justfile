# One obvious command per job; `just check` is what CI runs before the end-to-end tests.
set positional-arguments

default:
    @just --list

# everything a clone needs for development
setup: page
    uv sync --all-packages --frozen

# build the web page, where npm is there
page:
    bash scripts/build_page.sh

# renew the types of the page, of the TypeScript client and of the command line from the API's own description
client:
    uv run python -m tacit.api.openapi docs/reference/openapi.json
    cd web && (test -d node_modules || npm ci --silent) && npm run --silent client

# the pictures of docs/guide/web.md, from a synthetic store
screenshots: page
    uv run python scripts/picture_page.py

# first paint, scrolling, memory of the daemon
measure-page: page
    uv run python scripts/measure_page.py

# the clicks and keys that eleven everyday tasks take on the page, beside what they took at an earlier version
count-clicks: page
    uv run python scripts/count_clicks.py

# renew the golden texts of hosts and presets, and show what changed
golden:
    uv run pytest -q tests/golden tests/live/test_live_days.py --renew-golden
    uv run python -m tacit.api.openapi docs/reference/openapi.json
    git add --intent-to-add tests/golden tests/live
    git --no-pager diff --stat -- tests/golden tests/live
    git diff -- tests/golden tests/live

# a wheel and a source package of each package, the page in tacit-memory
release:
    uv build --all-packages

# install the wheel on every CPython >= 3.11 that is found here, and run the main commands
pythons *args:
    uv run --no-sync python scripts/smoke_pythons.py "$@"

# the fast suite (under three minutes)
test *args:
    bash scripts/test.sh "$@"

# format, lint, types, layers
lint:
    uv run ruff format --check .
    uv run ruff check .
    uv run pyright
    uv run lint-imports

format:
    uv run ruff format .
    uv run ruff check --fix .

check: lint test

# the property tests with twenty times the examples of CI
thorough *args:
    uv run pytest -n 2 -m "not e2e" --hypothesis-profile=thorough --timeout 900 packages/tacit-memory/tests/properties packages/tacit-memory/tests/contracts packages/tacit-memory/tests/unit/app/test_app_hostile.py "$@"

# real host clients against the loopback stub model
e2e *args:
    uv run pytest -m "e2e or slow" --timeout 300 "$@"

# the agent frameworks with memory, in an environment of their own
frameworks *args:
    UV_PROJECT_ENVIRONMENT=.venv-frameworks uv sync --quiet --frozen --no-default-groups --group frameworks
    .venv-frameworks/bin/python -m pytest -p no:cacheprovider packages/tacit-integrations/tests/test_frameworks.py packages/tacit-integrations/tests/test_frameworks_guide.py packages/tacit-integrations/tests/test_langgraph_store.py "$@"

# tests that take minutes each: damage, imports, escaping and weeks in every preset, the attacks
long *args:
    uv run pytest -m long --timeout 900 "$@"

# clients of the API from its OpenAPI document, in four languages without a warning (needs Java and the network once)
clients *args:
    uv run python scripts/generate_clients.py "$@"

# the pages and schemas under docs/reference that are made from the code
reference:
    uv run python -m tacit.api.reference > docs/reference/api.md
    uv run python -m tacit.api.openapi docs/reference/openapi.json
    uv run python -m tacit.cli.reference > docs/reference/cli.md
    uv run python -m tacit.library.reference > docs/reference/library.md
    uv run python -m tacit.config.reference > docs/reference/settings.md
    uv run python -m tacit.config.reference --schema > docs/reference/settings.schema.json
    uv run python tests/e2e/host_matrix.py
