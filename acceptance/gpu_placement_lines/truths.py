"""Compares simulated times with closed forms, on traces that traces.py writes and on the study's machine file or a
changed one. Criteria of acceptance/gpu-placement."""

from __future__ import annotations

import functools
import math
import tomllib
from typing import Any

from harness import ROOT, Criterion, Measured, fresh
from terrace import _core
from terrace.lab.experiment import ccnuma
from terrace.lab.experiment.ccnuma_figures import LOCAL, speedup

from gpu_placement_lines import traces
from gpu_placement_lines.common import Run, machine, study

CTAS = 6000  # of the stream: 24 MiB
STEPS = 4000  # of the chase
MIN, MAX = 0.80, 0.95  # of the peak
NEAR = 0.05
QUEUES = 0.25  # of the peak: beyond it random lines wait for each other in their banks
MEMORIES = ("gddr", "ddr")
SPLITS = (0.1, 0.3, 0.5, 0.6, 5 / 7, 0.8, 0.9)
FREE = {"walk": 0, "l2_tlb_latency": 0}  # translations cost nothing


@functools.cache
def _described() -> dict[str, Any]:
    """Returns the machine file's [[gpu]]."""
    text = (ROOT / "machines" / f"{ccnuma.MACHINE}.toml").read_text(encoding="utf-8")
    gpu: dict[str, Any] = tomllib.loads(text)["gpu"][0]
    return gpu


@functools.cache
def _made(name: str) -> str:
    """Writes the named trace and returns its folder."""
    folder = fresh(f"truths-{name}")
    makers = {
        "copy": lambda: traces.copy(folder, CTAS // 2),
        "stream": lambda: traces.stream(folder, CTAS),
        "chase": lambda: traces.chase(folder, STEPS),
        "scatter": lambda: traces.scatter(folder, 480, 64),
    }
    return makers[name]()


def _replayed(name: str, share: float, on: _core.Machine | None = None) -> Run:
    """Replays a trace with this share of the pages in the GPU's own memory."""
    trace = _made(name)
    about = on or _core.Machine.read(ccnuma.MACHINE)
    return _core.simulate_gpu_share(about, trace, share, allocations=traces.side_file(trace))


def _rate(run: Run) -> float:
    """Returns the bytes a second of each memory."""
    return float(sum(run["demand_bytes"]) / run["seconds"])


def _peak(memory: int) -> float:
    return float(_described()["memory"][memory]["bandwidth"].removesuffix("GB/s")) * 1e9


def streams() -> Measured:
    """Measures each memory alone by STREAM's copy, whose bus changes direction, and by reading an array."""
    said, holds = [], True
    for memory, name in enumerate(MEMORIES):
        peak = _peak(memory)
        rate, reads = (_rate(_replayed(trace, 1.0 - memory)) for trace in ("copy", "stream"))
        holds = holds and MIN <= rate / peak <= MAX
        said.append(
            f"{name} {rate / 1e9:.1f} GB/s, {rate / peak:.1%} of {peak / 1e9:.0f} (reads alone {reads / peak:.1%})"
        )
    return Measured("; ".join(said), holds)


def _latency(memory: int) -> dict[str, float]:
    """Returns the latencies on the path of a cache line's load, in cycles, from the machine file."""
    gpu = _described()
    of = gpu["memory"][memory]
    clock = float(gpu["clock"].removesuffix("GHz")) * 1e9
    command = clock / (float(of["clock"].removesuffix("MHz")) * 1e6)
    return {
        "network": 2 * gpu["network_latency"],
        "link": 2 * of["link_latency"],
        "L2": gpu["l2"]["latency"],
        "row": (of["row_to_column"] + of["read_latency"]) * command,
        "burst": traces.LINE * clock * of["channels"] / _peak(memory),
        "answer": traces.LINE / gpu["network_bytes"],
    }


def page_cycles() -> float:
    """Returns the cycles of a single page's migration: a read beyond the link, all its bytes, a write, and a
    walk."""
    gpu = _described()
    clock = float(gpu["clock"].removesuffix("GHz")) * 1e9
    size = float(gpu["page"].removesuffix("KiB")) * 1024
    return sum(_latency(1).values()) + size * clock / _peak(1) + sum(_latency(0).values()) + float(gpu["walk"])


def chase() -> Measured:
    """Measures dependent loads. Translations are free; a refresh has closed the bank since its last use."""
    lines, holds = [], True
    free = machine(**FREE, l1_tlb=4096)
    for memory, name in enumerate(MEMORIES):
        parts = {"issue": _described()["instruction_latency"], **_latency(memory)}
        expected = sum(parts.values())
        took = _replayed("chase", 1.0 - memory, free)["cycles"] / STEPS
        holds = holds and abs(took / expected - 1) <= NEAR
        said = " + ".join(f"{part} {cycles:.4g}" for part, cycles in parts.items())
        lines.append(f"{name}: {took:.1f} cycles a step, {took / expected - 1:+.1%} of {expected:.1f} = {said}")
    return Measured("\n".join(lines), holds)


def outstanding() -> Measured:
    """Measures random independent cache lines: an SM has as many in flight as MSHRs. No refresh closes a bank:
    another row is open in each."""
    clock = float(_described()["clock"].removesuffix("GHz")) * 1e9
    command = clock / (float(_described()["memory"][0]["clock"].removesuffix("MHz")) * 1e6)
    latency = sum(_latency(0).values()) + _described()["memory"][0]["precharge"] * command
    rows, farthest, full = [], 0.0, 0.0
    for processors, mshrs in ((1, 1), (1, 4), (1, 16), (4, 4), (4, 16), (15, 1), (15, 4), (15, 16), (15, 64)):
        run = _replayed("scatter", 1.0, machine(**FREE, refresh=0, processors=processors, l1_mshrs=mshrs))
        law = processors * mshrs * traces.LINE * clock / latency
        ratio = _rate(run) / min(law, _peak(0))
        saturated = law > QUEUES * _peak(0)
        full = ratio  # of the last: far more is asked for than there is
        if not saturated:
            farthest = max(farthest, abs(ratio - 1))
        rows.append(
            f"{processors} SMs with {mshrs} lines each: {_rate(run) / 1e9:.1f} GB/s, {ratio - 1:+.1%} of "
            + (f"{law / 1e9:.1f}" if law < _peak(0) else f"the peak ({law / 1e9:.0f} asked for)")
            + (", not held to it" if saturated else "")
        )
    first = f"within {farthest:.1%} of the law below {QUEUES:.0%} of the peak, {latency:.0f} cycles a line"
    return Measured("\n".join([first, *rows]), farthest <= NEAR and full >= 1 - NEAR)


def splits() -> Measured:
    """Compares splits with the law, with the file's bandwidths and with those that the stream reaches in each
    memory alone."""
    alone = [_rate(_replayed("stream", 1.0)), _rate(_replayed("stream", 0.0))]
    lines, reached, farthest = [], {}, 0.0
    for share in SPLITS:
        rate = reached[share] = _rate(_replayed("stream", share))
        named, own = (min(a / share, b / (1 - share)) for a, b in ((_peak(0), _peak(1)), alone))
        farthest = max(farthest, abs(rate / named - 1))
        lines.append(
            f"{share:.3f} in the GPU's memory: {rate / 1e9:.1f} GB/s, {rate / named - 1:+.1%} of "
            f"{named / 1e9:.1f}, {rate / own - 1:+.1%} of what the stream reaches alone"
        )
    best = max(reached, key=lambda share: reached[share])
    law = f"min({_peak(0) / 1e9:.0f}/f, {_peak(1) / 1e9:.0f}/(1-f))"
    first = f"best at {best:.3f}; at most {farthest:.1%} from {law}"
    return Measured("\n".join([first, *lines]), farthest <= NEAR and math.isclose(best, 5 / 7))


def limits() -> Measured:
    """Checks the limits for the stream, and for every program of the study under every rule."""
    remote = _replayed("stream", 0.0)["cycles"]
    local = remote / _replayed("stream", 1.0)["cycles"]
    balanced = remote / _replayed("stream", 5 / 7)["cycles"]
    lines = [f"stream: all local {local:.3f}x, balanced {balanced:.3f}x of all remote"]
    found = study()
    all_local = {name: speedup(found, name, LOCAL) for name in found.programs}
    all_rules = {
        f"{name} under {rule.name}": speedup(found, name, rule) for name in found.programs for rule in found.rules
    }
    for what, of in (("all local", all_local), ("under any rule", all_rules)):
        most = max(of, key=lambda name: of[name])
        lines.append(f"the study, {what}: at most {of[most]:.3f}x, {most}")
    holds = max(local, *all_local.values()) <= 2.5 and max(balanced, *all_rules.values()) <= 3.5
    return Measured("\n".join(lines), holds)


CRITERIA = [
    Criterion("stream", f"{MIN:.0%} to {MAX:.0%} of the peak in each memory", streams),
    Criterion("chase", f"a step takes the sum of its latencies, within {NEAR:.0%}", chase),
    Criterion(
        "outstanding bytes",
        f"bandwidth is bytes on their way over latency, within {NEAR:.0%} up to {QUEUES:.0%} of the peak, where "
        "queues begin",
        outstanding,
    ),
    Criterion("static split", f"f gives min(200/f, 80/(1-f)) GB/s, within {NEAR:.0%}, its best at 5/7", splits),
    Criterion("limits", "all local at most 2.5x, balanced at most 3.5x of all remote", limits),
]
