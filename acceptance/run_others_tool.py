"""Runs `scripts/others`, which fetches, builds and runs public programs (others_tool/command.py)."""

from __future__ import annotations

import sys

from others_tool.command import main

if __name__ == "__main__":
    sys.exit(main())
