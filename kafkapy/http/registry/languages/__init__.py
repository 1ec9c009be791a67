"""The languages of schemas: reading, canonical text, and what differs between two."""
