# SPDX-License-Identifier: Apache-2.0
"""Criteria of `acceptance/readability`: the size of the sources, and the first run on a bare system.

reading_test.py draws the sheets of the reading test, which readers answer by hand.
"""

ORDER = ("line_counts",)
