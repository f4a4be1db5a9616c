"""The lines of `acceptance/stencils`."""
