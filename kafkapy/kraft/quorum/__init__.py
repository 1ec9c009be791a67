"""The quorum as a pure machine: one role a file. Start reading at `quorum.py`."""
