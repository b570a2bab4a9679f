"""Questions about a recall that is done: decided again at another threshold, and where it left one memory out."""
