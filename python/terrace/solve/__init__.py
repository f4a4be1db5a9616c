"""What the model says of a profile: prices, bounds, optima, confidence."""
