"""Records, topics and groups for those who speak HTTP and JSON; its pages are in room.py."""
