"""`terrace lab experiment`: the published studies once more, ours beside theirs."""
