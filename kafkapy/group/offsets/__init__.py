"""Committed offsets: by members, by consumers that assign themselves, by transactions."""
