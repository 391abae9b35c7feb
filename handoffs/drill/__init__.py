"""The readiness drill: malformed inputs, sent through the real engine, and what became of each."""
