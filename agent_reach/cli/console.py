"""Where commands print."""

from rich.console import Console

output = Console()
errors = Console(stderr=True)
