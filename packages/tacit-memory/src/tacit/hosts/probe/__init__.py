"""Proof that injected text reaches the model: a loopback stub model and one run of the real host against it."""
