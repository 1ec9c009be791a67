"""kafka-python 3, with its default settings where the test is not about a setting."""
