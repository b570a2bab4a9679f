"""The built page as files: which there are, of what type, and how long a browser may keep them.

In: the folder that `npm run build` in web/ writes. Out: bytes with their headers, by exact name: only what a walk of that
folder found is ever opened, so that no path a browser sends is joined to anything.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

from tacit.frozen import frozen

STATIC: Final = Path(__file__).parents[1] / "static"
INDEX: Final = "index.html"
NONCE_MARK: Final = b"__TACIT_NONCE__"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
"""What is served, by ending; anything else in the folder is not."""
IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATE: Final = "no-cache"
_HASHED = re.compile(r"^assets/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


@frozen
class PageFile:
    """One file of the page: its name below the folder, its path, its content type, and its Cache-Control header `keep`."""

    name: str
    path: Path
    type: str
    keep: str

    def read(self) -> tuple[bytes, str]:
        """Return the file's bytes and their ETag.

        Raises:
            OSError: if it is gone, as after a new build.
        """
        data = self.path.read_bytes()
        return data, f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def is_built(folder: Path = STATIC) -> bool:
    """Whether `folder` holds a built page to serve."""
    return (folder / INDEX).is_file()


def find_files(folder: Path = STATIC) -> dict[str, PageFile]:
    """Return the files that may be served, by their names below `folder` with slashes; empty when no page is built."""
    files: dict[str, PageFile] = {}
    for path in sorted(folder.rglob("*")) if is_built(folder) else ():
        name = path.relative_to(folder).as_posix()
        kind = TYPES.get(path.suffix)
        if kind is not None and path.is_file() and not path.is_symlink():
            keep = IMMUTABLE if _HASHED.match(name) else REVALIDATE
            files[name] = PageFile(name=name, path=path, type=kind, keep=keep)
    return files
