# SPDX-License-Identifier: Apache-2.0
"""Analysis side of Terrace: the subcommands show, bounds, plan, report, export and lab, and their libraries.

The numerical code is the C++ extension `terrace._core`; this package reads profile stores, aggregates and draws.
python/dependencies.toml states which of its modules may import which; scripts/modules.py checks that.

arrays  for user programs: NumPy arrays with memory attributes, `terrace.intent` and `terrace.array`
imports converts measurements of perf and valgrind into profiles
store   reads a profile store into dataclasses
solve   evaluates the performance model on a profile: costs, bounds, optima, confidence
report  draws HTML pages and charts
lab     runs studies of many programs, traces and experiments
verbs/  implements the command line, one module per subcommand
"""

from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a module's)
    """Imports `terrace.intent` and `terrace.array` on first use, so that NumPy loads only when needed."""
    if name not in ("intent", "array"):
        raise AttributeError(f"module 'terrace' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("terrace.arrays"), name)
