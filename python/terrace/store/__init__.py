"""The profile store as values."""
