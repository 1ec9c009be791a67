"""A small program per client: one idempotent producer under a steady load (README.md)."""
