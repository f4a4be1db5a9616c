"""Single answers of `terrace lab experiment out-of-core`: sizes, lengths of chains, capacities,
transferred bytes.
"""

import json
from dataclasses import replace

import pytest
from terrace import _core
from terrace.lab.experiment import out_of_core, out_of_core_beyond, out_of_core_page
from terrace.lab.experiment.out_of_core import KNL, LINKS, PROGRAMS, Question

GPU = LINKS["PCIe"]


def test_cache_stores_only_written_data():
    # Three datasets, each many times the cache: what is accessed has to come, and what was written leaves once.
    # Two loops before the first iteration write, and each iteration; what the last one wrote stays. Each iteration
    # reads the halo of one of them, too, a layer on each side.
    cells, iterations = 20000, 20
    arguments = {"cells": str(cells), "iterations": str(iterations)}
    found = _core.price_stencil(
        "jacobi", arguments, _core.Machine.read(KNL), how="cache", tiled=False, memory=1 << 24
    )
    one = 8 * cells**2
    assert found["accesses"] == pytest.approx((2 + 3 * iterations) * one)
    halo = 8 * ((cells + 2) ** 2 - cells**2)
    assert found["bytes_in"] == pytest.approx(found["accesses"] + iterations * halo, rel=1e-9)
    assert found["bytes_out"] == pytest.approx((2 + iterations - 1) * one)


def test_chain_that_fits_no_tile_is_an_answer(tmp_path):
    question = Question("taylor_green", GPU, 160, "slots")
    study = out_of_core.Study(tmp_path, ["taylor_green"], [160], [question])
    for one in study.questions:
        out_of_core.answer(study.path(one), one)
    assert (study.count(), study.left()) == (2, 0)
    refused = study.refused(question)
    assert refused == "a third of 16GiB has no space for a tile of 216 loops: make memory=SIZE larger"
    assert study.rate(question) is None
    assert _core.NoRoomError.__mro__[1] is _core.InvalidError
    # Anything else that is refused is an error of the question.
    with pytest.raises(_core.InvalidError, match="the datasets do not fit into hbm"):
        out_of_core.answer(tmp_path / "x.json", replace(question, how="flat-fast"))


def test_chain_that_fits_no_tile_runs_as_shorter_ones():
    def priced(memory: int) -> dict[str, float]:
        arguments = {"cells": "48", "dims": "3", "chain": "40", "steps": "40"}
        return _core.price_stencil("heat", arguments, _core.Machine.read(KNL), how="streamed", memory=memory)

    whole, cut = priced(16 << 20), priced(1 << 20)
    assert whole["shortened_chains"] == 0
    assert cut["shortened_chains"] > 0
    assert cut["accesses"] == whole["accesses"]
    assert cut["chains"] == whole["chains"]
    assert cut["bytes_in"] > whole["bytes_in"]


def test_too_small_slow_memory_is_enlarged_and_reported():
    # The machine files state 96 GiB, 128 GiB and 256 GiB.
    for machine, has, enlarged in ((KNL, 96, 176), (GPU, 128, 176), (LINKS["NVLink"], 256, 0)):
        assert out_of_core.slow_capacity(machine) == has << 30
        assert Question("cloverleaf2d", machine, 160, "flat-slow").slow_memory == enlarged
        assert Question("cloverleaf2d", machine, 96, "flat-slow").slow_memory == 0
    question = Question("cloverleaf2d", GPU, 160, "flat-slow")
    assert out_of_core.price(question)["slow_bytes"] == 176e9
    assert out_of_core.price(replace(question, size=96))["slow_bytes"] == 128 << 30
    with pytest.raises(
        _core.InvalidError, match=r"the datasets do not fit into ddr, which has a capacity of 128GiB: set slow"
    ):
        _core.price_stencil(question.program, question.arguments, _core.Machine.read(GPU), how="flat-slow")
    study = out_of_core.Study("", ["cloverleaf2d"], [160], [])
    assert out_of_core_beyond._enlarged(study, 160) == [
        f"{where}: slow memory enlarged to 176 GB; the machine file has {has} GB, too little for data "
        "of this size."
        for where, has in (("KNL", 103), ("PCIe", 137))
    ]
    assert out_of_core_beyond._enlarged(study, 48) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_datasets_have_the_requested_size(tmp_path, program):
    for size in out_of_core.SIZES:
        question = Question(program, KNL, size, "flat-slow")
        out_of_core.answer(tmp_path / "x.json", question)
        found = json.loads((tmp_path / "x.json").read_text())
        assert found["dataset_bytes"] == pytest.approx(size * 1e9, rel=0.02)
        if size <= out_of_core.LARGEST_IN_MEMORY:
            assert found["dataset_bytes"] < found["fast_bytes"]


def test_runs_have_whole_chains():
    for program, chain, runs, steps in (
        ("cloverleaf2d", 0, 1, 10),
        ("cloverleaf3d", 0, 2, 20),
        ("taylor_green", 0, 1, 12),
        ("taylor_green", 5, 1, 15),
        ("taylor_green", 5, 2, 30),
    ):
        question = Question(program, GPU, 6, "slots", chain=chain, runs=runs)
        assert question.steps == steps
        assert question.arguments["steps"] == str(steps)
    names = {one.name for one in out_of_core_page.open_study("", ["taylor_green"], False).questions}
    assert "160GB-unified-not-tiled-not-prefetched-chain-5-runs-2" in names
    assert [case.title for case in out_of_core_beyond.cases(["taylor_green"])][:3] == [
        "SBLI, 1 step",
        "SBLI, 2 steps",
        "SBLI, 3 steps",
    ]
