"""A schema registry, by Confluent's API; its pages are in room.py."""
