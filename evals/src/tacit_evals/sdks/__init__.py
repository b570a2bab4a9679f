"""What the SDK middleware costs a request."""
