# SPDX-License-Identifier: Apache-2.0
"""Reads the caches of a profile's simulated machine, and derives the `terrace simulate` options that reproduce
it, which `terrace plan` prints."""

import tomllib
from typing import Any

from terrace import _core
from terrace.store.missing import LastCache
from terrace.store.values import Machine, Run


def machine_options(run: Run, machine: Machine, name: str) -> list[str]:
    """Returns --cache, --core-time, --cores and --domain of the run.

    `machine` is the run's own; only caches that differ from the machine file `name` are listed.
    """
    recorded = _initiator(_core.Machine.from_bytes(machine.blob), run, machine)
    file = _initiator(_core.Machine.read(name), run, machine)
    sizes = {cache["name"]: cache["size"] for cache in file.get("cache", [])}
    options = [
        f"--cache={cache['name']}={cache['size']}"
        for cache in recorded.get("cache", [])
        if sizes.get(cache["name"], cache["size"]) != cache["size"]
    ]
    if run.core_time_fitted and recorded["instruction_time"] != file["instruction_time"]:
        options.append(f"--core-time={recorded['instruction_time']}")
    options += [f"--core-time={what}={time * 1e12:.9g}ps" for what, time in run.core_times.items()]
    if run.cores != 1:
        options.append(f"--cores={run.cores:g}")
    domain = next((one.id for one in machine.domains if one.initiator == run.initiator), 0)
    return options + ([f"--domain={domain}"] if domain else [])


def last_cache(run: Run, machine: Machine) -> LastCache | None:
    """Returns the last cache of the run's own machine, or None without caches."""
    caches = _initiator(_core.Machine.from_bytes(machine.blob), run, machine).get("cache", [])
    return LastCache(machine.name, caches[-1]["name"], _core.parse_size(caches[-1]["size"])) if caches else None


def _initiator(file: _core.Machine, run: Run, machine: Machine) -> dict[str, Any]:
    """Returns the [[initiator]] table of the run in a machine file; the first table if its name is missing."""
    tables: list[dict[str, Any]] = tomllib.loads(file.to_toml())["initiator"]
    name = next((one.name for one in machine.initiators if one.id == run.initiator), "")
    return next((table for table in tables if table["name"] == name), tables[0])
