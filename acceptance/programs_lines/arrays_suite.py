"""Runs NumPy's own tests, as they are or with every array by intent, and writes how each ended. arrays.py starts
it as a program.

    arrays_suite.py PLAIN|HANDLER ACCOUNT WITNESS WORDS_OF_PYTEST...

With the handler an intent is active for the whole run, from before the tests are collected, and is set again
before each test, as one may have set another. Whether it was the active one is asked of NumPy as each test begins,
and WITNESS, a library made of arrays_witness.c, counts what it was asked for. ACCOUNT is a file of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import terrace
from numpy._core import multiarray
from terrace import _arrays

PLAIN, HANDLER = "plain", "handler"
INTENT = "bandwidth"


class Account:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.outcomes: dict[str, list[str]] = defaultdict(list)
        self.handlers: dict[str, int] = defaultdict(int)  # by the handler's name, tests that began with it

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self.handlers[str(multiarray.get_handler_name())] += 1
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        word = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if report.when == "call" or word != "passed":
            self.outcomes[report.nodeid].append(f"{report.when} {word}")


def _counted(library: str) -> ctypes.CDLL:
    """Loads the witness library, which from then on counts the calls of the intent's handler."""
    witness = ctypes.CDLL(library)
    witness.counts.restype = ctypes.POINTER(ctypes.c_ulong)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    witness.witness(ctypes.c_void_p(pointer(_arrays.handler(INTENT), b"mem_handler")))
    return witness


def _main(way: str, account: str, library: str, *words: str) -> int:
    """Runs pytest, in an intent if asked, and writes the account: outcomes, handlers, counts."""
    seen, witness = Account(), _counted(library)
    plugins: list[object] = [seen]
    with contextlib.ExitStack() as stack:
        if way == HANDLER:
            stack.enter_context(terrace.intent(INTENT))
            words = ("-p", "terrace.numpy_plugin", *words)
        status = int(pytest.main(list(words), plugins))
    found = {
        "status": status,
        "numpy": np.__version__,
        "under_terrace": bool(_arrays.active()),
        "outcomes": {name: ", ".join(all_) for name, all_ in seen.outcomes.items()},
        "handlers": seen.handlers,
        "counts": witness.counts()[:3],
    }
    Path(account).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
