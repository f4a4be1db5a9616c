"""`terrace lab`: for researchers and developers."""
