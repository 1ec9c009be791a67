"""Views: what of a topic's batches an expression lets through, and what is remembered of that."""
