# SPDX-License-Identifier: Apache-2.0
"""Computes the variation of objects between the iterations of a profile. reader.py returns it, and confidence.py
widens intervals by it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from terrace.store.values import BetweenIterations, Floats, Object


def between_iterations(
    shares: Sequence[tuple[int, float]], cells: Sequence[tuple[Any, ...]], objects: Sequence[Object]
) -> BetweenIterations:
    """Returns the variation.

    `shares`: weights of iterations in the mean; `cells`: iteration, chunk, exposure, samples.
    """
    column = {iteration: i for i, (iteration, _) in enumerate(shares)}
    rows = np.array(cells, dtype=np.float64).reshape(-1, 4)
    owner = owners(objects, rows[:, 1])
    known = owner >= 0
    index = (owner[known], np.array([column[int(i)] for i in rows[known, 0]], dtype=int))
    exposure, samples = (np.zeros((len(objects), len(shares))) for _ in range(2))
    np.add.at(exposure, index, rows[known, 2])
    np.add.at(samples, index, rows[known, 3])
    errors = relative_errors(exposure, samples, np.array([share for _, share in shares]))
    return BetweenIterations(
        len(shares) - 1, {o.name: error for o, error in zip(objects, errors, strict=True) if error > 0}
    )


def relative_errors(exposure: Floats, samples: Floats, weights: Floats) -> list[float]:
    """Returns the relative standard errors of weighted column means, in excess of the samples' own error."""
    mean = exposure @ weights
    many = exposure.shape[1]
    variance = (exposure - mean[:, None]) ** 2 @ weights * many / (many - 1)
    by_chance = exposure**2 / np.maximum(samples, 1) @ weights
    error = np.sqrt(np.maximum(variance - by_chance, 0.0) * (weights**2).sum())
    return [float(e / m) if m > 0 else 0.0 for e, m in zip(error, mean, strict=True)]


def owners(objects: Sequence[Object], chunks: Floats) -> npt.NDArray[np.int64]:
    """Returns the object index of each chunk, -1 for none; objects are in the order of their chunks."""
    if not objects:
        return np.full(len(chunks), -1)
    firsts = np.array([o.first_chunk for o in objects])
    ends = firsts + np.array([o.chunks for o in objects])
    owner = np.searchsorted(firsts, chunks, side="right") - 1
    return np.where((owner >= 0) & (chunks < ends[owner]), owner, -1)
