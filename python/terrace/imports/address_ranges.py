# SPDX-License-Identifier: Apache-2.0
"""Maps addresses to objects while mappings are created and removed. `terrace import` attributes perf's samples by
it."""

from bisect import bisect_right


class Ranges:
    """Disjoint address ranges, each with an object index. A later range replaces what it overlaps."""

    def __init__(self) -> None:
        """Creates an empty map."""
        self._lows: list[int] = []
        self._highs: list[int] = []
        self._numbers: list[int] = []

    def find(self, address: int) -> int | None:
        """Returns the index of the range that contains the address, or None."""
        at = bisect_right(self._lows, address) - 1
        return self._numbers[at] if at >= 0 and address < self._highs[at] else None

    def add(self, low: int, high: int, number: int) -> None:
        """Assigns the object's index to [low, high), as a mapping is created."""
        at = bisect_right(self._lows, low) - 1
        first = at if at >= 0 and self._highs[at] > low else at + 1
        last = first
        kept: list[tuple[int, int, int]] = []
        while last < len(self._lows) and self._lows[last] < high:
            before = (self._lows[last], self._highs[last], self._numbers[last])
            if before[0] < low:
                kept.append((before[0], low, before[2]))
            if before[1] > high:
                kept.append((high, before[1], before[2]))
            last += 1
        kept = sorted([*kept, (low, high, number)])
        self._lows[first:last] = [one[0] for one in kept]
        self._highs[first:last] = [one[1] for one in kept]
        self._numbers[first:last] = [one[2] for one in kept]

    def copy(self) -> "Ranges":
        """Returns an independent copy."""
        other = Ranges()
        other._lows, other._highs, other._numbers = self._lows[:], self._highs[:], self._numbers[:]
        return other
