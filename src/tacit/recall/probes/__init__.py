"""What is found out before the pure stages: values in, values out, and what missed the deadline by name."""
