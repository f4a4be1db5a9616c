# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin (`-p terrace.numpy_plugin`) that runs each test with NumPy data placed by a memory attribute.

`TERRACE_NUMPY_INTENT` names the intent; the default is "bandwidth". The tested code is unmodified: for example,
NumPy's own tests pass with `python -m pytest -p terrace.numpy_plugin --pyargs numpy._core`.
"""

import os

from terrace import _arrays


def pytest_runtest_setup() -> None:
    """Installs the handler before each test, because an earlier test may have replaced it."""
    _arrays.set_handler(_arrays.handler(os.environ.get("TERRACE_NUMPY_INTENT", "bandwidth")))


def pytest_report_header() -> str:
    """Reports whether the plugin is active."""
    return f"terrace: arrays by intent, {'under terrace' if _arrays.active() else 'plain allocation'}"
