"""What an import of transcripts makes of a folder; run `python -m tacit_evals.backfill --data DIR`."""
