# Sourced by other scripts: puts uv on the PATH, and installs it if it is missing.
PATH="$HOME/.local/bin:$PATH"
if ! command -v uv >/dev/null; then
    echo "uv is missing and is installed for this run." >&2
    # Debian's own Python refuses to install into itself: uv gets an environment, else the user's folder.
    uv_home="${XDG_CACHE_HOME:-$HOME/.cache}/tacit-uv"
    if python3 -m venv "$uv_home" 2>/dev/null && "$uv_home/bin/pip" install --quiet uv; then
        PATH="$uv_home/bin:$PATH"
    else
        python3 -m pip install --quiet --user --break-system-packages uv
    fi
fi
export PATH
