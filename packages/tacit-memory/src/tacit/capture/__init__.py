"""The write path: transcript -> extract -> redact -> reconcile -> store."""
