"""What reports say of a machine with a GPU: figures of its machine file, none of which is written down again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from terrace import _core


def _gpu(machine: _core.Machine) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(machine.to_toml())["gpu"][0]
    return found


def page_bytes(machine: _core.Machine) -> int:
    """What is mapped and moved."""
    return _core.parse_size(_gpu(machine)["page"])


def beyond_bandwidth(machine: _core.Machine) -> int:
    """Of the memory beyond the link, in bytes a second."""
    rate: str = _gpu(machine)["memory"][-1]["bandwidth"]
    return _core.parse_size(rate.removesuffix("/s"))


def link_bandwidth(machine: _core.Machine) -> str:
    """Of the link, as the machine file has it: "12GB/s"."""
    rate: str = _gpu(machine)["memory"][-1]["link_bandwidth"]
    return rate


def copy_bandwidth(machine: _core.Machine, run: Mapping[str, Any]) -> float:
    """Of a copy of all pages to the GPU's own memory, in bytes a second, as a run on the machine has it."""
    return page_bytes(machine) * len(run["page_accesses"]) / float(run["copy_seconds"])


def bandwidths(machine: _core.Machine) -> str:
    """Those of its own memory and beyond the link, in per cent of both: "71.4 to 28.6"."""
    own = 100 * _core.gpu_balance(machine)
    return f"{own:.1f} to {100 - own:.1f}"
