"""Version 2 of Confluent's REST API: records by media type, consumers between requests."""
