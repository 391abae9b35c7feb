"""The agents' API: what is said over HTTP, and nothing that decides."""
