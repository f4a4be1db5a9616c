"""Intervals of benefit: what `show` states with 90 %, against the benefit from exact counters of the same run."""

from __future__ import annotations

import functools
import json

from harness import TERRACE, Line, Measured, every_workload, keep_part, run, work

from others_lines.own import programs

# So small that data of size small does not fit into them: without misses nothing has a benefit.
CACHES = ["--cache", "l2=16KiB", "l3=60KiB"]
# Slow memory of four times the latency, of an eighth of the bandwidth, and CXL; and while a plan moves data.
SETTINGS = {
    "latency": ["record", "-m", "unimem-lat4"],
    "bandwidth": ["record", "-m", "unimem-bw8"],
    "cxl": ["record", "-m", "ddr5-cxl"],
    "moving": ["simulate", "-m", "unimem-lat4", "--fast", "100KiB"],
}
LEAST, MOST = 0.80, 0.97


def _counts(setting: str, name: str, words: list[str]) -> dict[str, int]:
    file = work("others") / f"interval-{setting}-{name}.terrace"
    file.unlink(missing_ok=True)
    first, *more = SETTINGS[setting]
    program = programs(marked=True) / name
    run([TERRACE, first, "-q", "--exact", *more, *CACHES, "-o", file, "--", program, *words])
    shown = json.loads(run([TERRACE, "show", "--json", file]).stdout)["objects"]
    exact = json.loads(run([TERRACE, "show", "--json", "--exact", file]).stdout)["objects"]
    truth = {one["name"]: one["benefit_s"] for one in exact}
    ranked = [one for one in shown if one["rank"] is not None]
    return {
        "objects": len(ranked),
        "true": sum(
            one["benefit_low_s"] <= truth.get(one["name"], 0.0) <= one["benefit_high_s"] for one in ranked
        ),
        "own": sum(one["benefit_low_s"] <= one["benefit_s"] <= one["benefit_high_s"] for one in ranked),
    }


def intervals_hold_the_truth() -> Measured:
    own = objects = 0
    texts, fine = [], True
    for setting in SETTINGS:
        cases = every_workload("small").items()
        each = [
            keep_part(f"interval-{setting}-{name}", functools.partial(_counts, setting, name, words))
            for name, words in cases
        ]
        of_setting = sum(counts["objects"] for counts in each)
        share = sum(counts["true"] for counts in each) / of_setting
        texts.append(f"{setting} {100 * share:.1f} % of {of_setting}")
        fine = fine and LEAST <= share <= MOST
        own += sum(counts["own"] for counts in each)
        objects += of_setting
    return Measured(f"{'; '.join(texts)}; the estimate: {own} of {objects}", fine and own == objects)


LINES = [
    Line(
        "intervals of benefit",
        "the benefit from exact counters is in 80 to 97 % of the stated 90 % intervals, the estimate in all",
        intervals_hold_the_truth,
    ),
]
