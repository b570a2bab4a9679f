"""What agents read of the MCP tools in `refresh`: its design asks them to search in mid-session, and says how."""

from __future__ import annotations

SHOWN = ("memory_profile", "memory_list", "memory_help")
"""The modes of the design's tool that the lean set does not show."""
SEARCH = (
    "Search the persistent memory of this project and user. PROACTIVE USAGE: search mid-session when you detect a task switch,"
    " encounter unfamiliar references, or need historical context that is not in the [MEMORY] block. Also to get the id of a memory."
    " Example: memory_search({query: 'PR conventions and commit workflow'})"
)
