# SPDX-License-Identifier: Apache-2.0
"""Summarises the memory of the MPI library: what it allocated for itself, where that was bound, and which of the
profile's objects are the library's. `terrace show` groups them under its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from rich.console import Console

from terrace import units
from terrace.solve.confidence import Benefit
from terrace.store.mpi import MpiObjectUse
from terrace.store.values import Floats, Object, Profile

# Files of MPI libraries and of what they bring: an object is named by its call site ("libpmix.so.2+0x1f"), by the
# call of MPI in which it was allocated ("MPICH 4.0.2"), or as the globals of a file.
_FILES = re.compile(
    r"(\(globals )?lib(mpi\w*|mpich|open-pal|open-rte|pmix|prrte|uc[pmst]|ucs|fabric|mca_\w*|event_\w*|hwloc)"
    r"[-.\w]*\.so[.\d]*(\)|\+)"
)
_KIND = "library"


def document(objects: Sequence[MpiObjectUse]) -> list[dict[str, Any]]:
    """Returns the part of `terrace show --json`."""
    return [asdict(one) for one in objects]


def print_memory(out: Console, objects: Sequence[MpiObjectUse]) -> None:
    """Prints a line for each library: kinds by place, and what is elsewhere."""
    for library in dict.fromkeys(one.library for one in objects):
        sums: dict[tuple[str, str | None], int] = {}
        elsewhere = 0
        for one in objects:
            if one.library == library:
                key = (one.kind, one.place)
                sums[key] = sums.get(key, 0) + one.bytes
                elsewhere += one.elsewhere
        ordered = sorted(sums.items(), key=lambda item: (item[0][1] is None, -item[1]))
        listed = [
            f"{kind} {units.size(size)}" + (f" bound to {place}" if place else "")
            for (kind, place), size in ordered
        ]
        rest = f"; {units.size(elsewhere)} of them stayed elsewhere" if elsewhere else ""
        out.print(f"Memory of {library}: {', '.join(listed)}{rest}.", markup=False)


def is_of_library(name: str, libraries: Sequence[str]) -> bool:
    """Returns whether an object of this name belongs to an MPI library."""
    return _FILES.match(name) is not None or name.partition("#")[0] in libraries


def group_objects(
    profile: Profile, sensitivity: list[list[str]], benefits: list[Benefit], objects: Sequence[MpiObjectUse]
) -> tuple[Profile, list[list[str]], list[Benefit]]:
    """Returns the profile with all objects of the MPI library as one, of its name; sensitivities and benefits, by
    object, agree with it. The sensitivity is that of the object with the most misses."""
    libraries = list(dict.fromkeys(one.library for one in objects))
    if not libraries:
        return profile, sensitivity, benefits
    inside = [o for o, one in enumerate(profile.objects) if is_of_library(one.name, libraries)]
    if len(inside) < 2:
        return profile, sensitivity, benefits
    rest = [o for o in range(len(profile.objects)) if o not in set(inside)]
    members = [profile.objects[o] for o in inside]
    whole = replace(members[0], name=libraries[0], kind=_KIND, size=_peak(members))

    def merged(matrix: Floats) -> Floats:
        result: Floats = np.vstack([matrix[rest], matrix[inside].sum(axis=0, keepdims=True)])
        return result

    most = max(inside, key=lambda o: float(profile.reads[o].sum())) if profile.phases else inside[0]
    grouped = replace(
        profile,
        objects=[*(profile.objects[o] for o in rest), whole],
        reads=merged(profile.reads),
        writes=merged(profile.writes),
        exposure=merged(profile.exposure),
        samples=merged(profile.samples),
    )
    return (
        grouped,
        [*(sensitivity[o] for o in rest), sensitivity[most]] if sensitivity else [],
        [*(benefits[o] for o in rest), Benefit(whole.name, 0.0, 0.0, 0.0, None, None, 0.0)],
    )


def _peak(objects: Sequence[Object]) -> int:
    """Returns the most bytes that existed at one time."""
    events = [(one.born, one.size) for one in objects]
    events += [(one.died, -one.size) for one in objects if one.died is not None]
    present = most = 0
    for _, size in sorted(events):
        present += size
        most = max(most, present)
    return most
