# SPDX-License-Identifier: Apache-2.0
"""A program with mpi4py: prints sums, and writes how often it called which function to `called.PID`."""

import os
from array import array
from pathlib import Path

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
total = array("d", [0.0])
for i in range(30):
    comm.Allreduce([array("d", [rank + i]), MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    comm.Barrier()
received = array("i", [0])
for i in range(10):
    request = comm.Irecv([received, MPI.INT], source=(rank - 1) % size, tag=i)
    comm.Send([array("i", [rank * i]), MPI.INT], dest=(rank + 1) % size, tag=i)
    request.Wait()
gathered = comm.gather({"rank": rank, "last": received[0]})
if rank == 0:
    print(total[0], gathered)
if folder := os.environ.get("TERRACE_MPI_COUNTS"):
    called = {"Allreduce": (30, 240, 240), "Barrier": (30, 0, 0), "Irecv": (10, 0, 40), "Send": (10, 40, 0)}
    text = "".join(f"{name} {' '.join(map(str, counts))}\n" for name, counts in called.items())
    Path(folder, f"called.{os.getpid()}").write_text(text)
