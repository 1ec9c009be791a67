"""One program for Java clients of several versions; each version's folder runs it."""
