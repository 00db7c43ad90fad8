"""`agent-reach serve`: OTLP in, a panel out."""
