# SPDX-License-Identifier: Apache-2.0
"""Acceptance of readability: words, structure, names that users rely on, warnings, and the first run.

Criteria are in acceptance/readability_lines; reading_test.py there draws the sheets of the reading test, which
readers answer by hand.
"""

from __future__ import annotations

import sys

from harness import lines_in, main

LINES = lines_in("readability_lines", order=("words", "structure", "user_names", "warnings", "bare_system"))

if __name__ == "__main__":
    sys.exit(main("readability", LINES))
