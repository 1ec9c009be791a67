"""What is not as it should be: rules, what they are held against, and whom to tell."""
