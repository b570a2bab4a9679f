"""Facts from a project's files before the first session (rule files, decisions, manifests, README, git history), and notes of hosts."""

from tacit.capture.bootstrap.host_memory import import_host_memory
from tacit.capture.bootstrap.project_import import RuleFile, RulesImport, import_rule_files
from tacit.capture.bootstrap.sources import MAX_FILES, find_rule_files, read_drafts
from tacit.capture.bootstrap.team_files import import_team_files

__all__ = [
    "MAX_FILES",
    "RuleFile",
    "RulesImport",
    "find_rule_files",
    "import_host_memory",
    "import_rule_files",
    "import_team_files",
    "read_drafts",
]
