"""Metrics of clients (KIP-714)."""
