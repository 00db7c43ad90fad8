"""OTLP out: the only place that knows OpenTelemetry."""
