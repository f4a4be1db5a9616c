"""Writes a random formula in conjunctive normal form with three literals a clause, in DIMACS' format (input of
SAT solvers). A recipe of `acceptance/others` names it for the program that reads such files."""

from __future__ import annotations

import random
from pathlib import Path


def make(path: Path, *, variables: int, clauses: int, seed: int) -> None:
    """Writes the formula; the variables of a clause differ."""
    draw = random.Random(seed)
    with path.open("w", encoding="ascii") as file:
        file.write(f"p cnf {variables} {clauses}\n")
        for _ in range(clauses):
            chosen = draw.sample(range(1, variables + 1), 3)
            file.write(" ".join(str(draw.choice((-1, 1)) * each) for each in chosen) + " 0\n")
