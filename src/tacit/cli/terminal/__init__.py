"""How the command line reads its options, asks, and speaks. Knows nothing of any command."""
