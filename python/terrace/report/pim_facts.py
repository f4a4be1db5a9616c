# SPDX-License-Identifier: Apache-2.0
"""Replays the allocations of a processing-in-memory (PIM) device, and holds the results for the page of `terrace
lab pim`."""

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError, core_errors

_SAMPLES = 600  # over the operations; about the width of a chart


@dataclass(frozen=True)
class Facts:
    """A trace, its replay, and its replay up to the peak occupancy."""

    name: str
    device: str  # description
    whole: _core.PimReplay
    fullest: _core.PimReplay

    @property
    def units(self) -> int:
        """Returns the number of rows of all subarrays."""
        return self.whole.geometry.units

    def share(self, units_in_use: int) -> float:
        """Returns the share of the device."""
        return units_in_use / self.units


def replay(trace: Path, machine: str = "", place: str = "") -> Facts:
    """Replays a trace on its own device, or on that of a machine."""
    with core_errors():
        read = _core.PimTrace.read(str(trace))
        device = _core.PimGeometry.of_machine(_core.Machine.read(machine), place) if machine else read.geometry
        try:
            whole = _core.replay_pim(read, device, samples=_SAMPLES)
            fullest = _core.replay_pim(read, device, until=whole.peak_operations)
        except MemoryError:
            raise TerraceError(
                f"{trace}: to replay it in a device of {device} needs more memory than this machine has; "
                "give a --machine with a smaller device"
            ) from None
    if whole.operations == 0:
        raise WrongCallError(
            f"{trace}: the trace contains no operation; record a program that allocates PIM memory"
        )
    return Facts(trace.name, str(device), whole, fullest)


def fragmentation(at: _core.PimReplay) -> tuple[float, float, float]:
    """Returns the fragmentation of rectangles, of horizontal and of vertical runs."""
    found = at.fragmentation
    return found.rectangle.fragmentation, found.horizontal.fragmentation, found.vertical.fragmentation
