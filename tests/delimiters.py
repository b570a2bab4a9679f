"""What hosts, chat templates and we ourselves tell speakers and blocks apart by, and a check that a text holds none of it.

The check is written on its own: it shares nothing with `tacit.safety.escape`.
"""

from __future__ import annotations

import re
import unicodedata

ELEMENTS = (
    "system-reminder", "system_reminder", "hook_context", "task-notification", "task_notification", "user_query", "environment_context",
    "permissions instructions", "turn_aborted", "developer_message", "additional_context", "user_instructions", "environment_details", "env", "skill",
    "rules", "context", "important", "command-name", "command-message", "local-command-stdout", "bash-stdout", "ide_selection", "ide_opened_file",
    "new-diagnostics", "attached_files", "additional_data", "function_calls", "antml:invoke", "invoke", "parameter", "thinking", "tool_result", "tool_use",
    "tacit-memory", "memory", "private", "document", "file", "INSTRUCTIONS", "user-prompt-submit-hook", "start_of_turn", "end_of_turn", "bos", "s",
    "output", "result", "agent_message", "collaboration_mode", "a_tag_of_tomorrow", "été",
)  # fmt: skip
TOKENS = (
    "<|im_start|>system", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>user<|end_header_id|>", "<|endoftext|>", "<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>",
    "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[SYSTEM]", "[/SYSTEM]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[USER]", "[ASSISTANT]",
    "[MEMORY]", "[/MEMORY]", "[ / MEMORY ]", "\uff3bMEMORY\uff3d", "\uff3b\uff0fMEMORY\uff3d", "```", "````bash", "~~~", "<!-- x", "<!DOCTYPE html>", "<?xml ?>", "<![CDATA[",
)  # fmt: skip
ROLES = (
    "Human:", "Assistant:", "System:", "USER:", "user:", "assistant :", "**System**:", "### System", "## Instructions", "# Human", "### Response:",
    "Developer:", "\uff28\uff55\uff4d\uff41\uff4e:", "> System: x", "- user: x", "### Go Preferences", "## Relevant to Current Task",
)  # fmt: skip


def written(name: str) -> tuple[str, ...]:
    """The ways to write the element `name` so that a model may still read it as one."""
    return (
        f"<{name}>", f"</{name}>", f"<{name} kind='x'>", f"<{name}/>", f"< {name}>", f"< / {name} >", f"<\u200b{name}>", f"<\u0301/{name}>", f"\uff1c{name}\uff1e",
        f"\ufe64/{name}\ufe65", f"&lt;{name}&gt;", f"&lt;/{name}&gt;", f"&#60;{name}>", f"&#x3C;/{name}>", f"&amp;lt;{name}>", f"\\u003c{name}\\u003e", f"%3C/{name}%3E",
        f"<{name.upper()}>", f"<\n/{name}\n>",
    )  # fmt: skip


_FORBIDDEN = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"<\s*[/!?|\uff5c]", 0),
        (r"<[^\W\d]", 0),
        (r"<\s+[^\W\d][\w:.-]*(\s+\w+=\S*)*\s*/?>", 0),
        (r"(?:&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\x3c|%3c)\s*[/!?|a-z]", re.IGNORECASE),
        (r"[\[\uff3b]\s*[/\uff0f]\s*[a-z]", re.IGNORECASE),
        (r"[\[\uff3b]\s*(memory|inst|sys|system|user|assistant|tool_calls|available_tools)\s*[\]\uff3d]", re.IGNORECASE),
        (r"[|\uff5c]\s*>", 0),
        (r"SYS>>", re.IGNORECASE),
        (r"`{3}|~{3}", 0),
        (r"(?m)(?:^|(?<=\s))#{2,6}\s*[a-z]", re.IGNORECASE),
        (r"(?m)(?:^|(?<=\s))#\s*(system|human|user|assistant|instructions?)\b", re.IGNORECASE),
        (r"(?m)(?:^|[.!?]\s)\W*(human|assistant|system|user|developer)\W*:", re.IGNORECASE),
        (r"\b(Human|Assistant|System|User|Developer|USER|SYSTEM)\b[\s*_`]*:", 0),
    )
)  # fmt: skip


def delimiters_in(text: str) -> list[str]:
    """Everything in `text` that could be read as an element, a block, a fence, a heading or another speaker, sorted."""
    seen = "".join(ch for ch in text if ch in "\n\t" or unicodedata.category(ch) not in ("Cf", "Cc"))
    plain = "".join(
        chr(ord(ch) - 0xFEE0) if 0xFF21 <= ord(ch) <= 0xFF5A and ch.isalpha() else ch for ch in seen
    )
    return sorted(match[0] for pattern in _FORBIDDEN for match in pattern.finditer(plain))
