# SPDX-License-Identifier: Apache-2.0
"""Runs the ablation study of the planner for `terrace lab experiment ablation`: plans made without one part of its
search each, in virtual time."""

from __future__ import annotations

from terrace import _core
from terrace.lab.experiment.cells import Answers, Cell, unique
from terrace.lab.experiment.page import Report, Section
from terrace.lab.experiment.setting import Setting
from terrace.lab.experiment.tables import Row, Table, geometric_mean

MACHINES = ("unimem-bw2", "unimem-lat4")
COPIERS = ("swap", "user-copy", "ideal")
SIZE = "256MB"
ALL = "planned auto"
# Minimum contribution of a part: in the geometric mean, or for some program.
MIN_MEAN = 0.005
MIN_ANYWHERE = 0.02


def methods() -> dict[str, str]:
    """Returns the method that omits a part, by the part's name."""
    return {
        **{part: f"{ALL} without {part}" for part in _core.planner_parts()},
        "all that search": f"{ALL} without {' '.join(_core.planner_parts())}",
    }


def cells(setting: Setting) -> list[Cell]:
    """Returns all cells (simulations to run) of the ablation study."""
    return unique(
        [
            Cell(name, f"{machine}@{copier}", method, SIZE)
            for method in (ALL, *methods().values())
            for name in setting.workloads
            for machine in MACHINES
            for copier in COPIERS
        ]
    )


def parts(setting: Setting, answers: Answers) -> Table:
    """Returns by part the loop times without it, relative to those with it."""
    rows: list[Row] = []
    for part, method in methods().items():
        slower: dict[str, float] = {}
        by_copier: dict[str, list[float]] = {copier: [] for copier in COPIERS}
        for name in setting.workloads:
            for machine in MACHINES:
                for copier in COPIERS:
                    one, other = (
                        answers.get(Cell(name, f"{machine}@{copier}", which, SIZE)).loop_s
                        for which in (method, ALL)
                    )
                    slower[f"{name} on {machine}@{copier}"] = one / other
                    by_copier[copier].append(one / other)
        where = max(slower, key=lambda cell: slower[cell])
        mean = geometric_mean(list(slower.values())) or 1.0
        rows.append(
            {
                "without": part, "mean_gap": mean - 1,
                **{f"{copier}_gap": (geometric_mean(by_copier[copier]) or 1.0) - 1 for copier in COPIERS},
                "worst_gap": slower[where] - 1, "worst": where, "best_gap": min(slower.values()) - 1,
                "stays": "yes" if mean - 1 >= MIN_MEAN or slower[where] - 1 >= MIN_ANYWHERE else "no",
            }
        )  # fmt: skip
    return Table("parts", "Loops without a part of the planner over loops with all of it", rows)


def report(setting: Setting, answers: Answers) -> Report:
    """Returns the report of `terrace lab experiment ablation`, from all answers."""
    table = parts(setting, answers)
    little = [str(row["without"]) for row in table.rows if row["stays"] == "no"]
    return Report(
        "Contribution of each part of the planner",
        f"Parts that contribute less than {MIN_MEAN:.1%} in the geometric mean and {MIN_ANYWHERE:.0%} anywhere: "
        f"{', '.join(little) or 'none'}.",
        f"Programs: {', '.join(setting.workloads)}, in class {setting.problem_class}, on {', '.join(MACHINES)}, "
        f"with moves by the copiers {', '.join(COPIERS)}, fast memory in the study's ratio. Plans of sampled "
        "profiles, run in virtual time.",
        [Section("By part", "Gaps are relative to the plan made with all parts.", tables=[table])],
    )
