"""One module per API: the translation between wire and event, and nothing else."""
