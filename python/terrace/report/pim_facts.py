"""A replay of what was asked of memory that computes."""

from dataclasses import dataclass
from pathlib import Path

from terrace import _core
from terrace.errors import TerraceError, WrongCallError, core_errors

_SAMPLES = 600  # over the operations: about as many as a picture is wide


@dataclass(frozen=True)
class Facts:
    """A trace, its replay, and the same up to the fullest moment."""

    name: str
    device: str  # in words
    whole: _core.PimReplay
    fullest: _core.PimReplay

    @property
    def units(self) -> int:
        """Rows of all subarrays."""
        return self.whole.geometry.units

    def share(self, units_in_use: int) -> float:
        """Of the device."""
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
            raise TerraceError(f"{trace}: a device of {device} needs more memory than there is here") from None
    if whole.operations == 0:
        raise WrongCallError(f"{trace}: it holds no operation; record a program that allocates")
    return Facts(trace.name, str(device), whole, fullest)


def fragmentation(at: _core.PimReplay) -> tuple[float, float, float]:
    """Of rectangles, across and down."""
    found = at.fragmentation
    return found.rectangle.fragmentation, found.horizontal.fragmentation, found.vertical.fragmentation
