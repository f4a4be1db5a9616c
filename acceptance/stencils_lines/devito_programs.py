"""Times heat and acoustic waves in Devito (a stencil compiler), which speed.py compares with Terrace's. The Python
of an environment that has Devito runs it; it prints a line for each name that it is given as NAME:POINTS:STEPS,
with the seconds of the fastest way and which that was.

All are with OpenMP and the host's compiler as Devito calls it. The ways: Devito's own choice of blocks, and its
autotuning, which tries many on the program itself before the clock runs, each with the innermost dimension whole
(Devito's default) and cut (its option `blockinner`)."""

import sys
import time

import numpy as np
from devito import Eq, Grid, Operator, TimeFunction, configuration, solve

configuration["language"] = "openmp"
configuration["log-level"] = "ERROR"
TUNING = ("aggressive", "destructive")  # "destructive": on the data themselves, so that it takes no memory


WAYS = {"the innermost dimension whole": {}, "the innermost dimension cut": {"blockinner": True}}


def heat(dims: int, points: int) -> Eq:
    """Solves u_t = laplacian of u, second order."""
    grid = Grid(shape=(points,) * dims, extent=(float(points - 1),) * dims, dtype=np.float64)
    u = TimeFunction(name="u", grid=grid, space_order=2, time_order=1)
    u.data[:] = 1.0
    return Eq(u.forward, solve(Eq(u.dt, u.laplace), u.forward), subdomain=grid.interior)


def wave(points: int) -> Eq:
    """Solves u_tt = laplacian of u, eighth order, in three dimensions."""
    grid = Grid(shape=(points,) * 3, extent=(float(points - 1),) * 3, dtype=np.float64)
    u = TimeFunction(name="u", grid=grid, space_order=8, time_order=2)
    u.data[:] = 1e-3
    return Eq(u.forward, solve(Eq(u.dt2, u.laplace), u.forward), subdomain=grid.interior)


def timed(operator: Operator, steps: int, **blocks: int) -> float:
    """Returns the seconds of a run that tunes nothing."""
    begun = time.perf_counter()
    operator.apply(time_m=1, time_M=steps, dt=0.01, autotune="off", **blocks)
    return time.perf_counter() - begun


PROBLEMS = {"heat2d": lambda n: heat(2, n), "heat3d": lambda n: heat(3, n), "wave": wave}
for word in sys.argv[1:]:
    name, points, steps = word.split(":")
    equation = PROBLEMS[name](int(points))
    found = []
    for way, options in WAYS.items():
        operator = Operator([equation], opt=("advanced", options))
        operator.apply(time_m=1, time_M=2, dt=0.01, autotune="off")  # compiles it, and touches all data
        found.append((timed(operator, int(steps)), f"blocks of its own choice, {way}"))
        operator.apply(time_m=1, time_M=int(steps), dt=0.01, autotune=TUNING)
        tuned = operator._state["autotuning"][-1].get("tuned")
        if not tuned:
            continue  # it has no blocks
        blocks = "x".join(str(tuned[size]) for size in sorted(tuned) if size != "nthreads")
        found.append((timed(operator, int(steps), **tuned), f"tuned blocks of {blocks}, {way}"))
    seconds, way = min(found)
    print(name, seconds, way)
