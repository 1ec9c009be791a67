"""Connections over HTTP and the thread that serves them: sockets, TLS, bounds."""
