"""The lines of acceptance/moves."""
