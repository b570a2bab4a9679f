"""An attacker and a user at the same product: generated attacks by area, and what must still work, in one run."""
