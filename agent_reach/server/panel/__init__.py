"""The panel: pages made on the server, so that they need no script to be read, and nothing that a tool wrote becomes HTML."""
