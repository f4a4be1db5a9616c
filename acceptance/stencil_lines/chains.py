"""Random chains of loops, against plain arrays."""

from __future__ import annotations

from harness import Line, Measured

from stencil_lines.common import is_small, tests

CHAINS = 10_000
STREAMED_OF = 12  # of the chains one in so many is streamed, larger and several times (random_chains_test.cpp)


def _chains(pattern: str, count: int) -> Measured:
    holds, said = tests("stencil_test", pattern, TERRACE_RANDOM_CHAINS=str(count))
    return Measured(f"{count} chains: {said}", holds and not is_small())


def tiled() -> Measured:
    """To the last bit, and sums as well: their order is that of rows."""
    return _chains("RandomChains.EveryExecutor*", 300 if is_small() else CHAINS)


def streamed() -> Measured:
    """From a file, of which a small part is in memory: several chains, three times each."""
    count = 300 if is_small() else CHAINS
    measured = _chains("Places/StreamedChains*", count)
    return Measured(f"one in {STREAMED_OF} of {measured.text}", measured.holds)


LINES = [
    Line("chains, tiled", f"{CHAINS} random chains equal plain arrays bit for bit, in tiles of every size", tiled),
    Line("chains, streamed", "the same from a file", streamed),
]
