# SPDX-License-Identifier: Apache-2.0
"""Reads figures of a GPU machine from its machine file, for the texts of reports. The last memory that a GPU lists
is the remote one, beyond the link."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from terrace import _core


def _gpu(machine: _core.Machine) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(machine.to_toml())["gpu"][0]
    return found


def page_bytes(machine: _core.Machine) -> int:
    """Returns the page size: the unit of mapping and migration."""
    return _core.parse_size(_gpu(machine)["page"])


def beyond_bandwidth(machine: _core.Machine) -> int:
    """Returns the bandwidth of the memory beyond the link, in bytes per second."""
    rate: str = _gpu(machine)["memory"][-1]["bandwidth"]
    return _core.parse_size(rate.removesuffix("/s"))


def link_bandwidth(machine: _core.Machine) -> str:
    """Returns the link's bandwidth as in the machine file: "12GB/s"."""
    rate: str = _gpu(machine)["memory"][-1]["link_bandwidth"]
    return rate


def copy_bandwidth(machine: _core.Machine, run: Mapping[str, Any]) -> float:
    """Returns the bandwidth of a copy of all pages to the GPU's own memory, in bytes per second."""
    return page_bytes(machine) * len(run["page_accesses"]) / float(run["copy_seconds"])


def bandwidths(machine: _core.Machine) -> str:
    """Returns local and remote bandwidth in per cent of their sum: "71.4 to 28.6"."""
    own = 100 * _core.gpu_balance(machine)
    return f"{own:.1f} to {100 - own:.1f}"
