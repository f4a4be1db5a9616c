"""The criteria of acceptance/gpu-placement."""
