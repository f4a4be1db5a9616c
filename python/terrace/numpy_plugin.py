"""A plugin for pytest (`-p terrace.numpy_plugin`): each test runs with arrays by intent.

Which intent: `TERRACE_NUMPY_INTENT`, else "bandwidth". Nothing of what is tested knows of it: NumPy's own tests
pass so, `python -m pytest -p terrace.numpy_plugin --pyargs numpy._core`.
"""

import os

from terrace import _arrays


def pytest_runtest_setup() -> None:
    """Before each test: one may have set another handler."""
    _arrays.set_handler(_arrays.handler(os.environ.get("TERRACE_NUMPY_INTENT", "bandwidth")))


def pytest_report_header() -> str:
    """Whether it does anything."""
    return f"terrace: arrays by intent, {'under terrace' if _arrays.active() else 'plain allocation'}"
