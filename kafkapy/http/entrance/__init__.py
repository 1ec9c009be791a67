"""What every request passes before a page sees it: origin, login, whom it acts for."""
