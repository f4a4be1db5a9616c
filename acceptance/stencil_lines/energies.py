"""CloverLeaf's published energies, by every executor, one and two threads, one, two and four ranks."""

from __future__ import annotations

from harness import Line, Measured, keep_part

from stencil_lines.common import data_folder, is_small, stencil

NEAR = 1e-10
# The problem, and how much of its data may be in memory when they are in a file: about a third.
PROBLEMS = {
    ("cloverleaf2d", "tp1"): "1MiB",
    ("cloverleaf2d", "tp2"): "60MiB",
    ("cloverleaf2d", "tp4"): "1GiB",
    ("cloverleaf3d", "tp1"): "1MiB",
    ("cloverleaf3d", "tp2"): "96MiB",
    ("cloverleaf3d", "tp4"): "1500MiB",
}
SMALL = ("tp1", "tp2")
RANKS = (2, 4)


def _ways(memory: str) -> dict[str, tuple[int, dict[str, object]]]:
    """Ranks and options of each way to run."""
    ways: dict[str, tuple[int, dict[str, object]]] = {}
    streamed = {"memory": memory, "folder": data_folder()}
    for threads in (1, 2):
        ways |= {
            f"untiled, {threads} threads": (1, {"executor": "parallel", "threads": threads}),
            f"tiled, {threads} threads": (1, {"executor": "tiled", "threads": threads}),
            f"streamed, {threads} threads": (1, {"executor": "streamed", "threads": threads, **streamed}),
        }
    for ranks in RANKS:
        ways[f"tiled, {ranks} ranks"] = (ranks, {"executor": "tiled", "threads": 1})
    return ways


def _energy(program: str, problem: str, ranks: int, options: dict[str, object]) -> list[float]:
    """The kinetic energy, the published one, and the loops of a step."""
    ran = stencil(program, {"problem": problem}, ranks, **options)
    return [ran.value("ke"), float(ran.document["results"]["ke"]["expected"]), ran.value("loops_per_step")]


def energies() -> Measured:
    """Each is a process of its own. The digits have to be the same, whatever the way."""
    lines, holds = [], True
    for (program, problem), memory in PROBLEMS.items():
        if is_small() and problem not in SMALL:
            continue
        found = {}
        for way, (ranks, options) in _ways(memory).items():
            name = f"stencil-energy-{program}-{problem}-{way.replace(', ', '-').replace(' ', '-')}"
            found[way] = keep_part(name, lambda: _energy(program, problem, ranks, options))  # noqa: B023
        values = {way: value for way, (value, _, _) in found.items()}
        expected = next(iter(found.values()))[1]
        loops = {round(count) for _, _, count in found.values()}
        far = max(abs(value / expected - 1) for value in values.values())
        differ = [way for way, value in values.items() if value != next(iter(values.values()))]
        holds = holds and far <= NEAR and not differ and loops == ({156} if program.endswith("2d") else {603})
        digits = f"other digits: {', '.join(differ)}" if differ else "the same digits"
        lines.append(
            f"{program} {problem}: {next(iter(values.values())):.14g}, published {expected:.14g}, "
            f"at most {far:.1e} off; {len(values)} ways, {digits}; {', '.join(map(str, loops))} loops a step"
        )
    return Measured("\n".join(lines), holds and not is_small())


LINES = [
    Line("energies", "published kinetic energies to 1e-10, untiled, tiled, streamed, threads and ranks", energies)
]
