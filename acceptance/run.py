# SPDX-License-Identifier: Apache-2.0
"""Runs an acceptance program: the scripts `acceptance/NAME` call it with their name.

The criteria are those of the modules of the package NAME_lines. The package may state an ORDER of modules, OPTIONS
of the program, and a function `finish`.
"""

from __future__ import annotations

import sys
from importlib import import_module

from harness import criteria_in, main

if __name__ == "__main__":
    name = sys.argv.pop(1)
    package = import_module(f"{name.replace('-', '_')}_lines")
    try:
        criteria = criteria_in(package.__name__, getattr(package, "ORDER", ()))
        sys.exit(main(name, criteria, getattr(package, "OPTIONS", {})))
    finally:
        getattr(package, "finish", lambda: None)()
