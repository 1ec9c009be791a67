"""Several nodes become those of a newer version, one after the other."""
