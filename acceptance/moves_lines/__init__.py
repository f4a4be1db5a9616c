"""The criteria of acceptance/moves."""
