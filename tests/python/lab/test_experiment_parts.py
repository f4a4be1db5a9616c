"""Computations of experiments that run no program: shards, and metrics that select data."""

from pathlib import Path

import pytest
from terrace import _core
from terrace.errors import WrongCallError
from terrace.lab.experiment import metrics, unimem
from terrace.lab.experiment.cells import Cell, parse_shard, shard_of_job
from terrace.lab.experiment.setting import read_setting

ROOT = Path(__file__).resolve().parents[3]


def test_parse_shard_reads_i_of_n():
    assert parse_shard("2/8") == (2, 8)
    assert Cell("mg", "unimem-bw2", "live auto", "1/4").name == "mg/unimem-bw2/1-of-4/live-auto"


def slurm(array=None, step=None):
    """Returns the variables of a Slurm job: `array` is number, count, lowest, highest; `step` is rank, tasks."""
    names = ("ARRAY_TASK_ID", "ARRAY_TASK_COUNT", "ARRAY_TASK_MIN", "ARRAY_TASK_MAX")
    found = [*zip(names, array or (), strict=False), *zip(("PROCID", "STEP_NUM_TASKS"), step or (), strict=False)]
    return {f"SLURM_{name}": str(value) for name, value in found}


@pytest.mark.parametrize(
    ("array", "step", "shard"),
    [
        ((0, 3, 0, 2), None, (1, 3)),
        ((2, 3, 0, 2), None, (3, 3)),
        ((12, 3, 7, 17), None, (2, 3)),
        ((5, 1, 5, 5), None, (1, 1)),
        (None, (3, 4), (4, 4)),
        ((1, 2, 0, 1), (1, 3), (5, 6)),
    ],
)
def test_shard_of_slurm_job_follows_array_and_task(array, step, shard):
    assert shard_of_job(slurm(array, step)) == shard


def test_shards_of_slurm_jobs_cover_each_part_once():
    found = [shard_of_job(slurm((a, 4, 2, 8), (task, 3))) for a in (2, 4, 6, 8) for task in range(3)]
    assert sorted(found) == [(number + 1, 12) for number in range(12)]


def test_shard_outside_of_slurm_or_of_irregular_array_is_refused():
    with pytest.raises(WrongCallError, match="neither a job of a Slurm array nor a task of srun"):
        shard_of_job({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"})
    for number, highest in ((3, 7), (2, 7), (5, 8)):
        with pytest.raises(WrongCallError, match="submit with --array=0-2"):
            shard_of_job(slurm((number, 3, 1, highest)))


def test_fill_skips_items_that_do_not_fit():
    assert metrics.fill([1.0, 9.0, 5.0, 0.0], [1, 10, 4, 1], 6) == [2, 0]
    assert metrics.fill([3.0, 3.0], [2, 2], 3) == [0]


def test_metrics_rank_streams_and_latency_differently():
    """Two items: a long stream of prefetched lines, and few misses with exposed latency."""
    dump = {
        "items": [{"size": 1000, "domain": 0}, {"size": 100, "domain": 0}],
        "homes": [1],
        "phases": [
            {"measured": 2.0, "cells": [[0, 6400.0, 640.0, 10.0]]},
            {"measured": 1.0, "cells": [[1, 640.0, 0.0, 30.0]]},
        ],
    }

    def values(metric):
        return metrics.values(metric, dump, None, 0)

    assert values("misses") == [6400.0, 640.0]
    assert values("misses-a-byte") == [6.4, 6.4]
    assert values("bandwidth") == [3520.0, 640.0]
    assert values("latency-weighted") == [10.0, 30.0]
    assert values("aol") == [10.0, 30.0]


def test_plan_text_is_a_plan():
    dump = {
        "items": [{"object": 0, "ordinal": n, "chunks": 1, "size": 10} for n in range(4)],
        "objects": [{"name": 'a "b"', "size": 40, "chunks": 4}],
    }
    plan = _core.Plan.parse(metrics.plan_text(dump, [3, 0, 1], "dram", 30))
    assert plan.budget == ["dram=30"]
    assert [(part[0], part[1]) for part in plan.objects[0]["parts"]] == [(0, 1), (1, 1), (3, 1)]


def test_cell_belongs_to_one_shard():
    cells = unimem.cells(read_setting("unimem", ROOT, None, "W", small=False))
    assert len({cell.name for cell in cells}) == len(cells)
    for count in (1, 3, 7):
        owners = [[i for i in range(1, count + 1) if cell.belongs_to((i, count))] for cell in cells]
        assert all(len(owner) == 1 for owner in owners)
        assert {owner[0] for owner in owners} == set(range(1, count + 1))
