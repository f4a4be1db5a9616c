"""The lines of acceptance/gpu-placement."""
