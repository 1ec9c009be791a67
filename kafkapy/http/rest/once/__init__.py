"""A repeated POST with the same Idempotency-Key writes once; once.py says how."""
