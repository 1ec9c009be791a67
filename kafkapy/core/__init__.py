"""Words every layer shares. Nothing here imports anything else of kafkapy."""
