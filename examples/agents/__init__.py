"""Agents outside, each in its own way: they speak HTTP and know nothing of this project but its client."""
