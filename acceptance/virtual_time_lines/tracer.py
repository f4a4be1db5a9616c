"""Compares the hooks with the independent tracer (QEMU): the share of each workload's misses that they see. A
criterion of acceptance/virtual-time."""

from __future__ import annotations

import functools
import json
import os
import shutil
from typing import Any

from harness import TERRACE, Criterion, Measured, Unavailable, every_workload, keep_part, run

from virtual_time_lines.common import Words, workload

# At the size `coverage` the caches are scaled: at their own size everything would stay in them.
MACHINE = ["--machine", "unimem-lat4", "--cache", "l2=32KiB", "--cache", "l3=128KiB"]
GOAL = 0.99
LISTED = 5  # objects below it, by name


def needs_qemu() -> None:
    name = f"qemu-{os.uname().machine}"
    if shutil.which(name) is None:
        raise Unavailable(f"{name} is not installed (Debian: qemu-user)")


def _coverage(name: str, arguments: list[str]) -> dict[str, Any]:
    native, hooked = (workload(name, built) for built in (False, True))
    words: Words = ["lab", "coverage", *MACHINE, "--json", "--native", native, "--", hooked]
    found: dict[str, Any] = json.loads(run([TERRACE, *words, *arguments]).stdout)
    return found


def seen() -> Measured:
    """Compares by workload, and by each object, however few its misses are."""
    needs_qemu()
    lines, holds = [], True
    for name, arguments in every_workload("coverage").items():
        found = keep_part(f"tracer-{name}", functools.partial(_coverage, name, arguments))
        objects = [o for o in found["objects"] if o["traced"] > 0]
        below = sorted((o for o in objects if o["seen"] < GOAL * o["traced"]), key=lambda o: -o["traced"])
        holds = holds and found["seen_share"] >= GOAL and not below
        rest = ", ".join(
            f"{o['object']} {o['lines']}" for o in found["rest"] if o["lines"] >= found["traced"] / 10000
        )
        lines.append(
            f"{name}: {found['seen_share']:.2%} of {found['traced']}; below the goal {len(below)} of "
            f"{len(objects)} objects"
            + "".join(f", {o['name']} {o['seen']} of {o['traced']}" for o in below[:LISTED])
            + f"; rest: {rest or 'under 0.01 % each'}"
        )
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion(
        "hooks against the tracer",
        f"at least {GOAL:.0%} of the last-level misses of user code, by workload and object; the rest listed",
        seen,
    ),
]
