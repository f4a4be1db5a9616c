"""`terrace lab experiment`: reproduce published studies and compare with their results."""
