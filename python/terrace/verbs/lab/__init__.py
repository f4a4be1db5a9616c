"""`terrace lab`: tools for researchers and developers."""
