"""franz-go, through a small program."""
