"""The published studies once more, ours beside theirs: what `terrace lab experiment` answers and shows."""
