"""One module per subject, each with its `PAGES`."""
