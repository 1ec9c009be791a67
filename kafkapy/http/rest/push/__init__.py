"""Messages as they come, to somebody who stays: server-sent events and WebSockets."""
