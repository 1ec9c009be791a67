"""What may be asked of the registry; table.py has THE table."""
