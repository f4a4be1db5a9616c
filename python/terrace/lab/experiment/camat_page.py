# SPDX-License-Identifier: Apache-2.0
"""Writes the report of `terrace lab experiment camat`: the study's figures, simulated and published."""

from __future__ import annotations

from typing import Any

from terrace import _core
from terrace.lab import gpu_camat
from terrace.lab.experiment import provenance
from terrace.lab.experiment.camat import BY_SCRIPT, MACHINES, STUDIED, Study
from terrace.lab.experiment.page import Picture, Report, Section
from terrace.lab.experiment.pictures import CYCLE, Level, Series, bars, lines
from terrace.lab.experiment.tables import Row, Table, Value

# Zhang et al., MCHPC'17. Figure 3 has ten accesses with two cycles of look-up. The text states hits, penalties and
# sums, but not begins; these begins reproduce all its numbers. (begin, cycles of look-up, cycles of the miss)
EXAMPLE = (
    (1, 2, 0), (5, 2, 3), (5, 2, 0), (6, 2, 3), (8, 2, 0), (8, 2, 7), (11, 2, 3), (11, 2, 0), (11, 2, 7),
    (13, 2, 3),
)  # fmt: skip
PUBLISHED_EXAMPLE = {
    "accesses": 10, "active_cycles": 17, "hit_access_cycles": 20, "hit_cycles": 11, "pure_access_cycles": 13,
    "pure_miss_cycles": 6, "pure_misses": 5, "value": 1.7, "hit_time": 2, "hit_concurrency": 20 / 11,
    "pure_miss_ratio": 5 / 10, "pure_miss_penalty": 13 / 5, "miss_concurrency": 13 / 6,
}  # fmt: skip
# Figures 5 and 6, from the text: mean of all SMs, minimum, maximum. By warps.
PUBLISHED = {"btree": (10.0, 9.0, 11.5), "particlefilter": (40.0, 38.0, 48.0)}
PARAMETERS = {
    "H": "hit_time", "C_H": "hit_concurrency", "pMR": "pure_miss_ratio", "pAMP": "pure_miss_penalty",
    "C_M": "miss_concurrency",
}  # fmt: skip
BY_WARPS, BY_LINES = "l1", "l1_parts"


def report(study: Study) -> Report:
    """Returns the report of `terrace lab experiment camat`, from all answers."""
    return Report(
        "GPU memory performance through C-AMAT",
        "Cycles in which a cache or memory has outstanding accesses, per access.",
        f"{', '.join(study.programs)}: each program was run once, its results verified, and its warps replayed on "
        f"{' and '.join(MACHINES)}, with all pages in the GPU's own memory.",
        [_example(), *_by_sm(study), _levels(study), _kernels(study), *_over_time(study)],
        provenance.describe(study.folder),
    )


def of_parts(ratios: dict[str, Any]) -> float:
    """Returns C-AMAT from its five parameters, the paper's equation 2."""
    hits = ratios["hit_time"] / ratios["hit_concurrency"] if ratios["hit_concurrency"] else 0.0
    misses = ratios["pure_miss_ratio"] * ratios["pure_miss_penalty"]
    return float(hits + (misses / ratios["miss_concurrency"] if ratios["miss_concurrency"] else 0.0))


def _example() -> Section:
    """Compares C-AMAT of the paper's example of ten accesses with the published values."""
    ours = _core.camat_of_accesses(EXAMPLE)
    rows: list[Row] = [
        {"what": name.replace("_", " "), "ours": ours[name], "published": said}
        for name, said in PUBLISHED_EXAMPLE.items()
    ]
    rows.append({"what": "value, by the five parameters", "ours": of_parts(ours), "published": 1.7})
    return Section(
        "Figure 3: the example",
        "Ten accesses of two cycles of look-up, six of which miss. The begins are chosen, because the paper does "
        "not state them.",
        tables=[Table("example", "Counters of the ten accesses", rows)],
    )


def _value(counters: dict[str, int]) -> float | None:
    return gpu_camat.value(counters)


def _by_sm(study: Study) -> list[Section]:
    """Returns the sections on C-AMAT by streaming multiprocessor (SM), one for each program of the paper."""
    sections: list[Section] = []
    means: list[Row] = []
    for program in study.programs:
        name = program.partition("@")[0]
        if name not in STUDIED:
            continue
        said = PUBLISHED[name]
        runs = {machine: study.get(program, machine)["levels"] for machine in MACHINES}
        rows: list[Row] = []
        for sm in range(len(runs[MACHINES[0]][BY_WARPS]["each"])):
            row: Row = {"SM": str(sm)}
            for machine, levels in runs.items():
                row[f"{machine}, by warps"] = _value(levels[BY_WARPS]["each"][sm])
                row[f"{machine}, by line parts"] = _value(levels[BY_LINES]["each"][sm])
            rows.append(row)
        figure = "Figure 5" if name == "btree" else "Figure 6"
        by_script = ", at the size of Rodinia's script" if program == BY_SCRIPT else ""
        title = f"{figure}: L1 of each SM, {name}{by_script}"
        table = Table(f"by-sm-{program.replace('@', '-')}", title, rows)
        series = [
            Series(machine, [_number(row[f"{machine}, by warps"]) for row in rows], CYCLE[number])
            for number, machine in enumerate(MACHINES)
        ]
        levels_said = tuple(Level(value, words) for value, words in zip(
            said, ("published mean", "published lowest", "published highest"), strict=True))  # fmt: skip
        for machine in MACHINES:
            means += _means(name + by_script, machine, runs[machine], said)
        chart = bars([str(row["SM"]) for row in rows], series, "C-AMAT by warps, cycles", levels_said)
        sections.append(
            Section(
                title,
                "Accesses are those of warps. An L1 cache is active while it looks up, waits for data, or stalls "
                "an access at the head of its queue for lack of an MSHR or of space for a store.",
                pictures=[Picture(table.name, title, chart)],
                tables=[table],
            )
        )
    if not means:
        return sections
    comparison = Section(
        "Comparison with the published values",
        "Of all SMs: active cycles summed over accesses summed.",
        _differences(study),
        tables=[Table("published", "L1, of all SMs and by SM", means)],
    )
    return [comparison, *sections]


def _differences(study: Study) -> list[str]:
    said = [
        "The paper names programs and simulator, but neither the sizes of the programs nor which of Rodinia's two "
        "particle filters it uses. C-AMAT by warps of the particle filter falls with the number of particles: "
        "accesses of the search for resampled particles grow quadratically and hit one line for all lanes; those "
        "of the weighting grow linearly and touch up to 32 lines per warp.",
        "The simulator assigns a kernel's CTAs to SMs from the first one on, so a kernel with fewer CTAs than SMs "
        "leaves the same SMs idle each time.",
    ]
    return said if "particlefilter" in study.programs else said[1:]


def _means(program: str, machine: str, levels: dict[str, Any], said: tuple[float, float, float]) -> list[Row]:
    """Returns the mean C-AMAT over all SMs of a program, next to the published value."""
    rows: list[Row] = []
    for level, words in ((BY_WARPS, "warps"), (BY_LINES, "line parts")):
        values = [value for one in levels[level]["each"] if (value := _value(one)) is not None]
        is_theirs = level == BY_WARPS
        rows.append(
            {
                "program": program,
                "machine": machine,
                "accesses of": words,
                "all": _value(levels[level]),
                "published": said[0] if is_theirs else None,
                "lowest": min(values, default=None),
                "published lowest": said[1] if is_theirs else None,
                "highest": max(values, default=None),
                "published highest": said[2] if is_theirs else None,
            }
        )
    return rows


def _number(value: Value) -> float | None:
    return value if isinstance(value, float) else None


def _levels(study: Study) -> Section:
    """Returns the section on C-AMAT and its parameters at each level of the memory hierarchy."""
    rows: list[Row] = []
    for program in study.programs:
        for machine in MACHINES:
            levels = study.get(program, machine)["levels"]
            for level, words in gpu_camat.LEVELS.items():
                ratios = gpu_camat.ratios(gpu_camat.counters_of(levels[level]))
                rows.append(
                    {
                        "program": program,
                        "machine": machine,
                        "level": words,
                        "C-AMAT": ratios["value"],
                        "by parts": of_parts(ratios),
                        **{short: ratios[name] for short, name in PARAMETERS.items()},
                        **gpu_camat.counters_of(levels[level]),
                    }
                )
    table = Table("levels", "Counters and parameters by level", rows)
    shown = []
    for machine in MACHINES:
        series = [
            Series(words, [
                _number(row["C-AMAT"]) for row in rows if row["machine"] == machine and row["level"] == words
            ], CYCLE[number])
            for number, words in enumerate(gpu_camat.LEVELS.values())
        ]  # fmt: skip
        title = f"C-AMAT by level, {machine}"
        shown.append(Picture(f"levels-{machine}", title, bars(study.programs, series, "C-AMAT, cycles")))
    return Section(
        "Every program, by level",
        "L1 by accesses of warps and by the line parts that they load; L2 slices; DRAM channels, where every "
        "access is a miss without look-up. Both forms use the same integers.",
        pictures=shown,
        tables=[table],
    )


def _kernels(study: Study) -> Section:
    """Returns the section on C-AMAT by kernel."""
    rows: list[Row] = []
    for program in study.programs:
        for part in study.get(program, MACHINES[0])["kernels"]:
            row: Row = {
                "program": program,
                "kernel": part["kernel"] or "after the last kernel",
                "launches": part["launches"],
                "cycles": part["cycles"],
                "accesses of warps": part["levels"][BY_WARPS]["accesses"],
            }
            row.update({words: _value(part["levels"][level]) for level, words in gpu_camat.LEVELS.items()})
            rows.append(row)
    table = Table("kernels", "C-AMAT by kernel, all launches together", rows)
    shown = []
    for program in [program for program in study.programs if program.partition("@")[0] in STUDIED]:
        own = [row for row in rows if row["program"] == program and row["accesses of warps"]]
        series = [
            Series(words, [_number(row[words]) for row in own], CYCLE[number])
            for number, words in enumerate(gpu_camat.LEVELS.values())
        ]
        chart = bars([str(row["kernel"]) for row in own], series, "C-AMAT, cycles")
        shown.append(Picture(f"kernels-{program.replace('@', '-')}", f"C-AMAT by kernel, {program}", chart))
    return Section(
        "By kernel",
        f"On {MACHINES[0]}. A cycle counts for the running kernel, an access for the kernel in which it "
        "begins; write-backs after the last kernel are a separate row.",
        pictures=shown,
        tables=[table],
    )


def _over_time(study: Study) -> list[Section]:
    """Returns the sections on C-AMAT by time interval."""
    rows: list[Row] = []
    shown = []
    for program in study.programs:
        own: list[Row] = []
        for part in study.get(program, MACHINES[0])["stretches"]:
            row: Row = {"program": program, "from cycle": part["begin"], "to cycle": part["end"]}
            row.update({words: _value(part["levels"][level]) for level, words in gpu_camat.LEVELS.items()})
            own.append(row)
        rows += own
        if program.partition("@")[0] not in STUDIED:
            continue
        series = [
            Series(words, [_number(row[words]) for row in own], CYCLE[number])
            for number, words in enumerate(gpu_camat.LEVELS.values())
        ]
        chart = lines(
            [float(row["from cycle"] or 0) for row in own],
            series,
            "C-AMAT, cycles",
            "cycles from the begin of the run",
        )
        shown.append(Picture(f"time-{program.replace('@', '-')}", f"C-AMAT over time, {program}", chart))
    return [
        Section(
            "Over time",
            f"On {MACHINES[0]}. Intervals of equal length; empty without accesses.",
            pictures=shown,
            tables=[Table("over-time", "C-AMAT by level over time", rows)],
        )
    ]
