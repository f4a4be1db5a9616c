# SPDX-License-Identifier: Apache-2.0
"""Validates a JSON document during access: errors state the invalid element by its path. stencil_plans.py reads
its file through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from terrace.errors import TerraceError

MAX = 1 << 62


class Checked:
    """A value of the document with its path, such as `chains[2].runs`."""

    def __init__(self, value: Any, where: str, file: str) -> None:  # noqa: ANN401  (JSON's)
        """Wraps a value; messages contain the name of the file."""
        self._value, self._where, self._file = value, where, file

    def fail(self, needed: str) -> NoReturn:
        """Raises TerraceError: the value is not what is required."""
        raise TerraceError(f"{self._file} is damaged: {self._where or 'the document'} is not {needed}")

    def __getitem__(self, key: str) -> Checked:
        if not isinstance(self._value, dict):
            self.fail("an object")
        if key not in self._value:
            self.fail(f"one that has '{key}'")
        return Checked(self._value[key], f"{self._where}.{key}" if self._where else key, self._file)

    def has(self, key: str) -> bool:
        """Returns whether the object has the key."""
        return isinstance(self._value, dict) and key in self._value

    def items(self, count: int | None = None) -> list[Checked]:
        """Returns the elements of a list, of length `count` if given."""
        if not isinstance(self._value, list):
            self.fail("a list")
        if count is not None and len(self._value) != count:
            self.fail(f"a list of {count}")
        return [Checked(value, f"{self._where}[{i}]", self._file) for i, value in enumerate(self._value)]

    def text(self, among: Sequence[str] = ()) -> str:
        """Returns a string, which must be among the given ones if there are any."""
        if not isinstance(self._value, str):
            self.fail("a string")
        if among and self._value not in among:
            self.fail(f"one of {', '.join(among)}")
        return self._value

    def whole(self, low: int = 0, high: int = MAX) -> int:
        """Returns the element, an integer in [low, high]; fails otherwise."""
        if not isinstance(self._value, int) or isinstance(self._value, bool):
            self.fail("an integer")
        if not low <= self._value <= high:
            self.fail(f"an integer from {low} to {high}")
        return self._value

    def number(self) -> float:
        """Returns the element, a non-negative number; fails otherwise."""
        if not isinstance(self._value, (int, float)) or isinstance(self._value, bool):
            self.fail("a number")
        if not 0 <= self._value <= MAX:
            self.fail("a number from 0 on")
        return float(self._value)

    def truth(self) -> bool:
        """Returns a boolean."""
        if not isinstance(self._value, bool):
            self.fail("true or false")
        return self._value

    def three(self, low: int, high: int) -> tuple[int, int, int]:
        """Returns a triple of integers for x, y and z."""
        x, y, z = (item.whole(low, high) for item in self.items(3))
        return x, y, z

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.items())
