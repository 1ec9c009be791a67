"""JSON Schema."""
