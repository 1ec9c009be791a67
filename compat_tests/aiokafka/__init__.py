"""aiokafka, whose own protocol versions are older than the others'."""
