"""Terrace's analysis: the verbs show, bounds, plan, report, export and lab, and what they are made of.

Numerics live in the C++ module `terrace._core`; here is what reads stores, arranges and draws. Which part may
use which others is stated in python/dependencies.toml, and checked by scripts/modules.py.

arrays  for programs: NumPy arrays by intent, `terrace.intent` and `terrace.array`
imports what perf and valgrind measured, as profiles
store   a profile store as values
solve   what the model says of a profile: prices, bounds, optima, confidence
report  pages and pictures
lab     studies that run many programs, traces, experiments
verbs   the command line, a module each
"""

from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a module's)
    """`terrace.intent` and `terrace.array`: NumPy is loaded when they are asked for."""
    if name not in ("intent", "array"):
        raise AttributeError(f"module 'terrace' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("terrace.arrays"), name)
