"""NumPy arrays by intent, and their names.

    import numpy as np
    import terrace

    with terrace.intent("bandwidth"):
        a = np.zeros(10_000_000)
    terrace.array("a", a)

Under `terrace run` the data of an array of 64 KiB or more that is made within the `with` go where the machine's
ordering for that intent says; smaller ones, and whatever is made in a program that Terrace did not start, come
from malloc. NumPy keeps with each array what its data came from, so arrays may outlive the `with`. What holds
within it is NumPy's handler of this context (`contextvars`): other threads, and tasks that were begun before, have
their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from terrace import _arrays

_Array = TypeVar("_Array", bound=np.ndarray)


@contextmanager
def intent(name: str) -> Iterator[None]:
    """Array data that is allocated within is placed by the intent `name`.

    That is "bandwidth", "latency", "capacity" or "normal", or one of the machine file's own. ValueError where the
    machine has none of this name.
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
    """The same array, whose data is an object of that name in profiles and plans from now on.

    A view names the bytes from its first to its last element. Arrays that have no page of their own, and those of
    a program that Terrace did not start, stay without a name.
    """
    if not name:
        raise ValueError("the name of an array is empty")
    if values.size > 0:
        reach = [(length - 1) * stride for length, stride in zip(values.shape, values.strides, strict=True)]
        low = values.__array_interface__["data"][0] + sum(min(step, 0) for step in reach)
        size = sum(abs(step) for step in reach) + values.itemsize
        _arrays.name_object(name, low, size)
    return values
