"""Heat and acoustic waves in Devito, run by the Python of an environment that has it: prints seconds for each name
that it is given, NAME:POINTS:STEPS."""

import sys
import time

import numpy as np
from devito import Eq, Grid, Operator, TimeFunction, configuration, solve

configuration["language"] = "openmp"
configuration["log-level"] = "ERROR"


def heat(dims: int, points: int) -> Operator:
    """u_t = laplacian of u, second order."""
    grid = Grid(shape=(points,) * dims, extent=(float(points - 1),) * dims, dtype=np.float64)
    u = TimeFunction(name="u", grid=grid, space_order=2, time_order=1)
    u.data[:] = 1.0
    return Operator([Eq(u.forward, solve(Eq(u.dt, u.laplace), u.forward), subdomain=grid.interior)])


def wave(points: int) -> Operator:
    """u_tt = laplacian of u, eighth order, in three dimensions."""
    grid = Grid(shape=(points,) * 3, extent=(float(points - 1),) * 3, dtype=np.float64)
    u = TimeFunction(name="u", grid=grid, space_order=8, time_order=2)
    u.data[:] = 1e-3
    return Operator([Eq(u.forward, solve(Eq(u.dt2, u.laplace), u.forward), subdomain=grid.interior)])


for word in sys.argv[1:]:
    name, points, steps = word.split(":")
    operator = {"heat2d": lambda n: heat(2, n), "heat3d": lambda n: heat(3, n), "wave": wave}[name](int(points))
    operator.apply(time_m=1, time_M=2, dt=0.01)  # compiles it, and touches all data
    begun = time.perf_counter()
    operator.apply(time_m=1, time_M=int(steps), dt=0.01)
    print(name, time.perf_counter() - begun)
