"""The live record of a session: what it is (projects), how it changes (transitions), what it holds (ledger)."""
