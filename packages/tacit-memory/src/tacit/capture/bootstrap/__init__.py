"""Facts from a project's files before the first session (rule files, decisions, manifests, README, git history), and notes of hosts."""
