"""The rows, by what they are about."""
