"""Random chains of loops, against plain arrays."""

from __future__ import annotations

from harness import Line, Measured

from stencil_lines.common import is_small, reduced, tests

CHAINS, FEW = 10_000, 300
STREAMED_OF = 12  # of the chains one in so many is streamed, larger and several times (random_chains_test.cpp)


def _count() -> int:
    return FEW if is_small() else CHAINS


def tiled() -> Measured:
    """To the last bit, and sums as well: their order is that of rows."""
    holds, said = tests("stencil_test", "RandomChains.EveryExecutor*", TERRACE_RANDOM_CHAINS=str(_count()))
    return Measured(reduced(f"{_count()} chains: {said}"), holds and not is_small())


def streamed() -> Measured:
    """From a file, of which a part is in memory: programs of several chains, three times each. The test itself
    requires that most of them are moved to memory and back."""
    holds, said = tests(
        "stencil_test", "Places/StreamedChains*", said="were moved", TERRACE_RANDOM_CHAINS=str(_count())
    )
    text = f"{_count() // STREAMED_OF} programs, from a file and from memory: {said}"
    return Measured(reduced(text), holds and not is_small())


LINES = [
    Line("chains, tiled", f"{CHAINS} random chains equal plain arrays bit for bit, in tiles of every size", tiled),
    Line(
        "chains, streamed",
        f"the same of {CHAINS // STREAMED_OF} programs with memory for a part of their data; at least 85 % "
        "of them are moved to memory and back",
        streamed,
    ),
]
