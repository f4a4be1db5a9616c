"""Calls of `terrace-stencils` without a document: --help, and wrong ones, which print one line and exit 2."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import BUILD, ROOT

PROGRAMS = BUILD / "workloads" / "stencils" / "terrace-stencils"
MACHINE = f"machine={ROOT / 'machines' / 'p100-nvlink.toml'}"
NEEDS = "needs machine=FILE; on this machine TERRACE_STENCIL says how chains run"

COPIED = "slots, streamed, unified"


def without(word, how, others):
    return f"{word}= has no effect with how={how}; it has with {others}"


def call(words, **variables):
    environment = {name: text for name, text in os.environ.items() if name != "TERRACE_STENCIL"} | variables
    return subprocess.run([PROGRAMS, *words], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("jacobi iterations=-1", "iterations=-1: give at least 0"),
        ("jacobi cells=0", "cells=0: give at least 1"),
        ("jacobi cells=many", "cells=many: a number is needed"),
        ("jacobi cells=1e3", "cells=1e3: a number is needed"),
        ("jacobi cells=", "cells=: a value is needed"),
        ("jacobi cells=8 cells=9", "cells= is there twice"),
        ("jacobi cells", "cells: an argument is NAME=VALUE"),
        ("jacobi cells=8 every=0 checkpoint=a.h5", "every=0: give at least 1"),
        ("heat steps=-5", "steps=-5: give at least 0"),
        ("heat chain=-1", "chain=-1: give at least 1"),
        ("heat dims=1", "dims=1: give at least 2"),
        ("heat dims=4", "dims=4: heat has 2 or 3 dimensions"),
        ("wave cells=3", "cells=3: give at least 4"),
        ("wave chain=0", "chain=0: give at least 1"),
        ("wave waves=0", "waves=0: give at least 1"),
        ("wave courant=nan", "courant=nan: a finite number larger than 0 is needed"),
        ("wave mode=source wavelength=inf", "wavelength=inf: a finite number larger than 0 is needed"),
        ("taylor_green mach=0", "mach=0: a finite number larger than 0 is needed"),
        ("taylor_green every=-1", "every=-1: give at least 1"),
        ("taylor_green dt=-0.1", "dt=-0.1: a finite number larger than 0 is needed"),
        ("taylor_green until=-1", "until=-1: a finite number larger than 0 is needed"),
        ("cloverleaf2d steps=0", "steps=0: give at least 1"),
        ("cloverleaf3d summary=-1", "summary=-1: give at least 0"),
        ("cloverleaf2d problem=tp99", "problem=tp99: there is no such problem; there are tp1 to tp5"),
        ("jacobi how=cache", f"how=cache {NEEDS}"),
        ("jacobi memory=1GiB", f"memory=1GiB {NEEDS}"),
        ("jacobi processes=2", f"processes=2 {NEEDS}"),
        (f"jacobi {MACHINE} processes=0", "processes=0: give at least 1"),
        (f"jacobi {MACHINE} tiled=2", "tiled=2: it is 0 or 1"),
        (f"jacobi {MACHINE} memory=0", "memory=0: it is larger than 0"),
        (f"jacobi {MACHINE} cells=-4", "cells=-4: give at least 1"),
        (
            f"jacobi {MACHINE} how=bogus",
            "how=bogus: there is no such mode; set one of cache, flat-fast, flat-slow, slots, streamed, unified",
        ),
        (
            f"jacobi {MACHINE} how=flat-slow memory=1GiB",
            without("memory", "flat-slow", f"cache, flat-fast, {COPIED}"),
        ),
        (
            f"jacobi {MACHINE} how=flat-fast slow_memory=1GiB",
            without("slow_memory", "flat-fast", f"cache, flat-slow, {COPIED}"),
        ),
        (f"jacobi {MACHINE} how=flat-slow prefetched=0", without("prefetched", "flat-slow", COPIED)),
        (f"jacobi {MACHINE} how=flat-slow cyclic=0", without("cyclic", "flat-slow", "slots, streamed")),
        (f"jacobi {MACHINE} how=unified cyclic=0", without("cyclic", "unified", "slots, streamed")),
        (f"jacobi {MACHINE} how=slots tiled=0", without("tiled", "slots", "cache, unified")),
        (f"jacobi {MACHINE} processes=4", without("processes", "streamed", "cache")),
        (f"jacobi {MACHINE} how=cache tiled=0 processes=4", "processes= has no effect with tiled=0"),
        (f"jacobi {MACHINE} how=unified tiled=0 prefetched=0", "prefetched= has no effect with tiled=0"),
    ],
)
def test_wrong_argument_is_refused(words, said):
    done = call(words.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"terrace-stencils: {said}\n")


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_lists_the_programs(word):
    done, listed = call([word]), call([])
    assert (done.returncode, done.stdout, done.stderr) == (0, listed.stdout, "")
    assert "\njacobi " in f"\n{done.stdout}"


def test_variable_in_virtual_time_is_refused():
    done = call(["jacobi", "cells=64", MACHINE], TERRACE_STENCIL="executor=serial")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "terrace-stencils: TERRACE_STENCIL=executor=serial has no effect with machine=FILE"
    )
    assert done.stderr.count("\n") == 1
    assert call(["jacobi", "cells=64", MACHINE], TERRACE_STENCIL="").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("executor=tiled,memory=1GiB", "memory= has no effect with executor=tiled; it has with gpu, streamed"),
        ("threads=1,threads=1", "threads= is there twice"),
    ],
)
def test_word_without_effect_is_refused(words, said):
    done = call(["jacobi", "cells=64"], TERRACE_STENCIL=words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"terrace-stencils: TERRACE_STENCIL: {said}\n")


@pytest.mark.parametrize(
    ("how", "given"),
    [
        ("flat-fast", {"memory=1GiB"}),
        ("flat-slow", {"slow_memory=1GiB"}),
        ("cache", {"memory=1GiB", "slow_memory=1GiB", "tiled=1", "processes=2"}),
        ("slots", {"memory=1GiB", "slow_memory=1GiB", "cyclic=0", "prefetched=0"}),
        ("streamed", {"memory=1GiB", "slow_memory=1GiB", "cyclic=0", "prefetched=0"}),
        ("unified", {"memory=1GiB", "slow_memory=1GiB", "tiled=1", "prefetched=0"}),
    ],
)
def test_modes_in_virtual_time_take_their_own_arguments(how, given):
    done = call(["jacobi", "cells=64", "iterations=2", MACHINE, f"how={how}", "bandwidth=100GB/s", *given])
    assert (done.returncode, done.stderr) == (0, "")
