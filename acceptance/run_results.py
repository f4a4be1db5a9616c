"""Runs `scripts/results`, which makes what the result pages need and writes them (results/runner.py)."""

from __future__ import annotations

import sys
from pathlib import Path

from results.runner import main

if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
