"""Checks degenerate cases in which placement rules have to agree, and the oracle, which no rule may beat. Criteria
of acceptance/gpu-placement."""

from __future__ import annotations

from harness import Criterion, Measured
from terrace import _core
from terrace.lab.experiment import ccnuma
from terrace.lab.experiment.ccnuma import STATIC, Rule
from terrace.lab.experiment.ccnuma_figures import ORACLE, best_placement, run_time

from gpu_placement_lines.common import programs, study, trace
from gpu_placement_lines.truths import page_cycles

NEVER = 0xFFFFFFFF  # accesses
COLD = 0.05  # of the time, in addition to the counted cold misses


def infinite() -> Measured:
    """Compares every program at its smallest size, to the cycle."""
    about = _core.Machine.read(ccnuma.MACHINE)
    differ = []
    for name in programs():
        path = trace(name)
        remote = _core.simulate_gpu_share(about, path, 0.0)
        never = _core.simulate_gpu_policy(about, path, "touch", threshold=NEVER)
        if (remote["cycles"], remote["counts"]) != (never["cycles"], never["counts"]):
            differ.append(f"{name}: {remote['cycles']} and {never['cycles']} cycles")
    return Measured(
        "\n".join([f"{len(programs()) - len(differ)} of {len(programs())} programs to the cycle", *differ]),
        not differ,
    )


def free_first_touch() -> Measured:
    """Compares free migration at first touch with all pages in the GPU's own memory, for every program at its
    smallest size. The difference is the accesses that wait for a page, at most as long as all pages take that move
    one by one. Frames are in the order of arrival of the pages: some programs gain by other channels."""
    about = _core.Machine.read(ccnuma.MACHINE)
    lines, holds = [], True
    for name in programs():
        path = trace(name)
        local = _core.simulate_gpu_share(about, path, 1.0)
        touched = _core.simulate_gpu_policy(about, path, "migrate-on-fault", shootdown=0, fault=0)
        cold = touched["seconds"] / local["seconds"] - 1
        most = touched["moved_pages"] * page_cycles() / local["cycles"]
        same = [touched["counts"][key] == local["counts"][key] for key in ("l1_loads", "l1_stores")]
        holds = holds and all(same) and touched["demand_bytes"][1] == 0 and cold <= most + COLD
        lines.append(f"{name}: {cold:+.1%} of all local, {touched['moved_pages']} pages come")
    return Measured("\n".join(lines), holds)


def _gain(one: tuple[float, str, Rule]) -> float:
    return one[0]


def _faster(than: Rule | None) -> tuple[int, list[tuple[float, str, Rule]]]:
    """Returns the number of runs, and those that are faster than a rule, or than their program's best placement:
    by how much, program, rule."""
    found, runs = study(), 0
    faster = []
    for name in found.programs:
        of = than or best_placement(found, name)
        for rule in found.rules:
            if rule == of:
                continue
            runs += 1
            gain = run_time(found, name, of) / run_time(found, name, rule) - 1
            if gain > 0:
                faster.append((gain, name, rule))
    return runs, faster


def oracle() -> Measured:
    """Compares every answer of the study with the oracle, which splits by the bandwidths and ignores latency, and
    with the fastest static placement, as it was run."""
    found = study()
    runs, beaten = _faster(ORACLE)
    by_program = {name: [one for one in beaten if one[1] == name] for name in found.programs}
    moving = sum(rule not in STATIC for _, _, rule in beaten)
    lines = [f"{len(beaten)} of {runs} runs are faster than their program's oracle, {moving} of them with moves"]
    for name, own in by_program.items():
        ranked = sorted(own, key=_gain, reverse=True)
        most = [ranked[:1], [one for one in ranked if one[2] not in STATIC][:1]]
        said = dict.fromkeys(f"{rule.name} by {gain:.2%}" for each in most for gain, _, rule in each)
        if said:
            lines.append(f"{name}: {len(own)} rules, the most {', '.join(said)}")
    runs_of_best, above = _faster(None)
    far = [
        f", the most {name} under {rule.name} by {gain:.2%}" for gain, name, rule in sorted(above, key=_gain)[-1:]
    ]
    lines.append(f"{len(above)} of {runs_of_best} are faster than their program's best placement" + "".join(far))
    return Measured("\n".join(lines), runs > 0 and not beaten)


CRITERIA = [
    Criterion("infinite threshold", "equals access over the link alone, to the cycle", infinite),
    Criterion("free first touch", "equals all local less cold misses", free_first_touch),
    Criterion("oracle", "no rule beats it in any run of the study", oracle),
]
