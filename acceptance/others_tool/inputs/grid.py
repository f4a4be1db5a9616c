"""Writes the graph of a grid in three dimensions with some random edges, in METIS' format (input of graph
partitioners). A recipe of `acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, side: int, seed: int, random_edges: int = 0) -> None:
    """Writes a graph of `side` cubed vertices, each tied to its neighbours."""
    draw, count = random.Random(seed), side**3
    edges: list[set[int]] = [set() for _ in range(count)]
    for at in range(count):
        for step, place in ((1, at % side), (side, at // side % side), (side * side, at // side**2)):
            if place + 1 < side:
                edges[at].add(at + step)
                edges[at + step].add(at)
    for _ in range(random_edges):
        a, b = draw.sample(range(count), 2)
        edges[a].add(b)
        edges[b].add(a)
    with path.open("w", encoding="ascii") as file:
        file.write(f"{count} {sum(map(len, edges)) // 2}\n")
        for ends in edges:
            file.write(" ".join(str(each + 1) for each in sorted(ends)) + "\n")
