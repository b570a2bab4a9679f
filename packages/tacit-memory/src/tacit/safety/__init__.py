"""Rules for what may be stored and shown: redaction, escaping, trust. Used by both pipelines."""
