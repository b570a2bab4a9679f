"""Whether memory helps: sessions with it and without, and what prompt caches can keep."""
