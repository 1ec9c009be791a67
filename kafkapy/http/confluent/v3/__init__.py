"""Version 3 of Confluent's REST API: records, clusters, topics, groups."""
