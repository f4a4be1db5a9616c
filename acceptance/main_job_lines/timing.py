"""STREAM and the chase in virtual time against the machine file's own numbers."""

from __future__ import annotations

import re
from pathlib import Path

from harness import ROOT, TERRACE, Line, Measured, described, fresh, machines, run, work, workload
from terrace.lab import study


def _simulate(machine: str | Path, options: list[str], command: list[str | Path]) -> str:
    """Simulates a program under the plan that is among the options."""
    output = fresh("timing") / "timing.terrace"
    done = run([TERRACE, "simulate", "--quiet", "--machine", machine, "-o", output, *options, "--", *command])
    study.check_follows_plan(output)
    return done.stdout


def _everything_in(place: str) -> list[str]:
    plan = work("fresh") / f"everything-in-{place}.toml"
    plan.parent.mkdir(parents=True, exist_ok=True)
    plan.write_text(f'schema = 1\n\n[[object]]\nname = "*"\nplace = "{place}"\npin = true\n')
    return ["--plan", str(plan)]


def _said(program: str, pattern: str, text: str) -> float:
    """Returns the number that a program printed."""
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"{program} does not say its number ({pattern}): {text[:200]}")
    return float(found[1])


def _closed_forms(machine: str | Path) -> list[tuple[str, str, float]]:
    """Returns (machine, quantity, measured over expected) for every place of the first domain."""
    about = described(machine)
    result = []
    domain = about["domains"][0]
    caches = max(c["size"] for i in about["initiators"] for c in i["caches"])
    size = max(4 * int(caches), 8 << 20)
    for place in [p for p in about["places"] if p["domain"] == domain["name"]]:
        path = next(
            p for p in about["paths"] if p["place"] == place["name"] and p["initiator"] == domain["initiator"]
        )
        # Triad reads two arrays and the lines that it stores to, and writes one: what a place gives is a mixture
        # of its read and write bandwidth, of which STREAM counts three of four arrays.
        triad = 3 / (3 / path["read"] + 1 / path["write"])
        text = _simulate(
            machine,
            [*_everything_in(place["name"]), "--cores", "all"],
            [workload("stream", True), "--size", str(size), "--repetitions", "3"],
        )
        rate = _said("stream", r"(?i)triad\D+([0-9.e+]+)", text)
        result.append((about["name"], f"{place['name']} STREAM triad", rate / triad))
        text = _simulate(
            machine,
            _everything_in(place["name"]),
            [workload("chase", True), "--size", str(size), "--steps", "400000"],
        )
        hop = _said("chase", r"([0-9.]+)\s*ns", text) * 1e-9
        initiator = next(i for i in about["initiators"] if i["name"] == domain["initiator"])
        step = path["latency"] + 4 * initiator["instruction_time"]  # a load, and a loop's three instructions
        result.append((about["name"], f"{place['name']} chase", hop / step))
    return result


def closed_forms() -> Measured:
    worst, lines = 0.0, []
    for machine in machines():
        found = _closed_forms(machine)
        off = max(found, key=lambda one: abs(one[2] - 1))
        worst = max(worst, abs(off[2] - 1))
        lines.append(f"{machine}: {len(found)} forms, worst {off[1]} {off[2] - 1:+.2%}")
    return Measured("\n".join(lines), worst <= 0.02)


def proportion() -> Measured:
    """Compares the closed forms on a machine file with every bandwidth and latency scaled."""
    text = (ROOT / "machines" / "unimem-bw2.toml").read_text()
    scaled = work("fresh") / "scaled.toml"
    scaled.parent.mkdir(parents=True, exist_ok=True)
    changed = re.sub(r'"(\d+)GB/s"', lambda m: f'"{int(m[1]) * 3 / 4}GB/s"', text)
    changed = re.sub(r'^latency = "86ns"', 'latency = "215ns"', changed, flags=re.M)
    scaled.write_text(changed)
    forms = _closed_forms(scaled)
    worst = max(abs(ratio - 1) for _, _, ratio in forms)
    return Measured(
        f"bandwidths x 3/4, latencies x 2.5: worst deviation from the new numbers {worst:.2%}", worst <= 0.02
    )


LINES = [
    Line(
        "STREAM and chase in virtual time",
        "each place's bandwidth and latency within 2 %, every shipped machine",
        closed_forms,
    ),
    Line("STREAM and chase follow the file", "both change in proportion", proportion),
]
