# SPDX-License-Identifier: Apache-2.0
"""Reads the data of a report from profile, plan and journal, and computes the curve over sizes with the model.
`terrace report` and `lab demo` call it."""

from pathlib import Path

from terrace.output import progress
from terrace.report.facts import Facts
from terrace.solve import confidence, model
from terrace.store.reader import Store
from terrace.store.summary import by_name, summarise_phases

_UNPRICED = model.Pricing(0.0, 0.0, [], [], "", None, None)


def gather(file: Path, process: int | None = None, rank: int | None = None) -> Facts:
    """Reads the data of a report.

    A run that followed a plan has no profile; then only the plan's execution is read.
    """
    store = Store(file)
    run = store.run(process, rank)
    machine = store.machine(run)
    obeyed = run.follows_plan and store.loop(run) is not None and not store.has_profile(run, exact=False)
    profile = by_name(store.profile_or_objects(run) if obeyed else store.profile(run))
    pricing, sensitivity, certainty = _UNPRICED, [], []
    if not obeyed:
        with progress("pricing placements") as steps:
            pricing = model.price(store, run, profile, steps)
            sensitivity = model.sensitivities(store, run, profile)
            names = [item.name for item in profile.objects]
            certainty = confidence.benefits(model.Model(store, run, exact=profile.exact), names)
    plans = store.plans(run)
    return Facts(
        file=file,
        run=run,
        machine=machine,
        loop=store.loop(run),
        profile=profile,
        pricing=pricing,
        sensitivity=sensitivity,
        phases=summarise_phases(store, run),
        instances=store.phase_instances(run),
        moves=store.moves(run),
        plan=plans[-1] if plans else None,
        counters=store.counters(run),
        coverage=store.coverage(run),
        notes=store.notes(run),
        all_objects=store.objects(run),
        certainty=certainty,
    )
