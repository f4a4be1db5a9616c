"""The criteria of acceptance/stencils."""
