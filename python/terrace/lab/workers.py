"""Processes that work beside one another, and end with the one that they work for, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor


def workers(count: int | None = None) -> ProcessPoolExecutor:
    """A pool of so many, else of one for each core. They are new processes rather than copies of one that may have
    threads."""
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _end_with_parent)


def _end_with_parent() -> None:
    """Each holds both ends of the pipe that brings its work, so that it would wait there for ever."""
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
