"""Paths of Confluent's REST proxy, for clients that were written for it; see README.md."""
