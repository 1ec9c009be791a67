"""Members of groups as processes of their own, and what happens to them."""
