"""Consumer groups as machines: classic, KIP-848, their offsets. See README.md."""
