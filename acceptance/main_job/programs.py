"""Workloads verify everywhere; what enters a program shows only the names in its map."""

from __future__ import annotations

import re
import subprocess

from harness import ROOT, TERRACE, Line, Measured, run

from main_job.common import WORK, workload


def verifies() -> Measured:
    lines, holds = [], True
    for name in ("cg", "mg"):
        for size in ("S", "W", "A"):
            output = WORK / "verify.terrace"
            output.unlink(missing_ok=True)
            hooked = [workload(name, True), "--class", size]
            simulate = [TERRACE, "simulate", "--quiet", "--machine", "unimem-lat4", "--fast", "4MiB", "-o", output]
            ways = {
                "native": [workload(name, False), "--class", size],
                "hooks": hooked,
                "simulated": [*simulate, "--", *hooked],
            }
            good = [way for way, command in ways.items() if "SUCCESSFUL" in run(command, check=False).stdout]
            holds = holds and len(good) == len(ways)
            lines.append(f"{name}.{size}: verified {', '.join(good) or 'nowhere'}")
    return Measured("\n".join(lines), holds)


def exported() -> Measured:
    """Against the lists that the map is made of."""
    library = next((TERRACE.parent.parent / "lib" / "terrace").glob("libterrace.so"))
    listed = set()
    for file in ("src/front/exports.txt", "src/access/hooks.map.txt"):
        listed |= set(re.findall(r"^([A-Za-z_]\w*)", (ROOT / file).read_text(), re.M))
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    shown = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    extra = sorted(shown - listed)
    return Measured(
        f"{len(shown)} names, {len(extra)} of them not in the map{': ' + ' '.join(extra[:5]) if extra else ''}",
        bool(shown) and not extra,
    )


LINES = [
    Line("CG and MG verify", "classes S, W, A natively, under hooks, and in simulated runs", verifies),
    Line("names that are injected", "nm -D shows only those in the symbol map", exported),
]
