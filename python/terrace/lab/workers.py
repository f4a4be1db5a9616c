# SPDX-License-Identifier: Apache-2.0
"""Starts pools of worker processes that end with their parent, even if it is killed. The experiments and `terrace
lab demo` use them."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor


def workers(count: int | None = None) -> ProcessPoolExecutor:
    """Returns a pool of `count` processes, by default one per core. Spawns instead of forking: the parent may have
    threads.
    """
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _end_with_parent)


def _end_with_parent() -> None:
    """Watches the parent. A worker holds both ends of its work pipe, so it would never see end-of-file."""
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
