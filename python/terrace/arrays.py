# SPDX-License-Identifier: Apache-2.0
"""Memory attributes ("intents") and names for NumPy arrays.

    import numpy as np
    import terrace

    with terrace.intent("bandwidth"):
        a = np.zeros(10_000_000)
    terrace.array("a", a)

Under `terrace run`, the data of every array of at least 64 KiB that is created inside the `with` block is placed
by the machine's ordering for that intent. Smaller arrays, and programs that Terrace did not start, use malloc.
NumPy stores the allocator with each array, so arrays may outlive the block. The block installs NumPy's data-memory
handler in the current context (`contextvars`): other threads, and tasks that started earlier, keep their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from terrace import _arrays

_Array = TypeVar("_Array", bound=np.ndarray)


@contextmanager
def intent(name: str) -> Iterator[None]:
    """Places array data that is allocated inside the block by the intent `name`.

    `name` is "bandwidth", "latency", "capacity", "normal" or an ordering that the machine file defines. Raises
    ValueError if the machine has no ordering of this name.
    """
    complaint = _arrays.complaint_of_intent(name)
    if complaint is not None:
        raise ValueError(complaint)
    before = _arrays.set_handler(_arrays.handler(name))
    try:
        yield
    finally:
        _arrays.set_handler(before)


def array(name: str, values: _Array) -> _Array:
    """Names the array's data as an object in profiles and plans, and returns the same array.

    A view names the bytes from its first to its last element. Has no effect on arrays that share their pages with
    other data, nor in a program that Terrace did not start.
    """
    if not name:
        raise ValueError("the name of an array is empty; pass the name that profiles and plans are to show")
    if values.size > 0:
        reach = [(length - 1) * stride for length, stride in zip(values.shape, values.strides, strict=True)]
        low = values.__array_interface__["data"][0] + sum(min(step, 0) for step in reach)
        size = sum(abs(step) for step in reach) + values.itemsize
        _arrays.name_object(name, low, size)
    return values
