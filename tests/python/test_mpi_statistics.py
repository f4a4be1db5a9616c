"""Statistics of MPI calls in a profile equal what the program did, call by call and byte by byte."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest
from conftest import run

# Two ranks. Every call and its size is listed in CALLS and MESSAGES below.
PROGRAM = r"""
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
static int rank, value;
static void* send_some(void* unused) {
  for (int i = 0; i < 6; ++i) MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
  return unused;
}
int main(int argc, char** argv) {
  static double many[1000];
  static char byte, got[5000];
  int provided, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2 || provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  const int other = 1 - rank;
  if (rank == 0) {
    for (int i = 0; i < 10; ++i) MPI_Send(many, 1000, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    pthread_t thread;
    pthread_create(&thread, NULL, send_some, NULL);
    pthread_join(thread, NULL);
  } else {
    for (int i = 0; i < 10; ++i) MPI_Recv(many, 1000, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 6; ++i) MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 5; ++i)  /* the buffer is larger than the message */
    MPI_Sendrecv(many, 3, MPI_FLOAT, other, 2, got, 5000, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request requests[2];
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(got, 0, MPI_BYTE, other, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&byte, 0, MPI_BYTE, other, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Recv_init(got, 40, MPI_BYTE, other, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(many, 5, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 8; ++i) {
    if (i % 2)
      MPI_Startall(2, requests);
    else
      for (int k = 0; k < 2; ++k) MPI_Start(&requests[k]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int k = 0; k < 2; ++k) MPI_Request_free(&requests[k]);
  MPI_Comm copy, self;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &self);
  MPI_Sendrecv(&byte, 1, MPI_CHAR, other, 4, got, 1, MPI_CHAR, other, 4, copy, MPI_STATUS_IGNORE);
  MPI_Sendrecv(many, 2, MPI_DOUBLE, 0, 5, got, 16, MPI_BYTE, 0, 5, self, MPI_STATUS_IGNORE);
  MPI_Send(many, 500, MPI_DOUBLE, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
  for (int i = 0; i < 7; ++i) MPI_Allreduce(MPI_IN_PLACE, many, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&self);
  MPI_Finalize();
  return 0;
}
"""

# Calls, bytes sent and bytes received of each rank.
BOTH = {
    "Init_thread": (1, 0, 0),
    "Comm_rank": (1, 0, 0),
    "Comm_size": (1, 0, 0),
    "Sendrecv": (7, 5 * 12 + 1 + 16, 5 * 5000 + 1 + 16),
    "Irecv": (3, 0, 0),
    "Isend": (3, 0, 0),
    "Waitall": (3 + 8, 0, 0),
    "Recv_init": (1, 0, 0),
    "Send_init": (1, 0, 0),
    "Start": (8, 4 * 40, 4 * 40),
    "Startall": (4, 4 * 40, 4 * 40),
    "Request_free": (2, 0, 0),
    "Comm_dup": (1, 0, 0),
    "Comm_split": (1, 0, 0),
    "Allreduce": (7, 7 * 16, 7 * 16),
    "Barrier": (1, 0, 0),
    "Comm_free": (2, 0, 0),
    "Finalize": (1, 0, 0),
}
CALLS = {
    0: {**BOTH, "Send": (10 + 6 + 1, 10 * 8000 + 6 * 4, 0)},
    1: {**BOTH, "Send": (1, 0, 0), "Recv": (10 + 6, 0, 10 * 8000 + 6 * 4)},
}


def messages(rank):
    """Returns numbers and bytes by receiver and size class."""
    other = 1 - rank
    of_both = {(other, 4): (5, 60), (other, 6): (8, 320), (other, 0): (3, 0), (other, 1): (1, 1), (-1, 5): (1, 16)}
    return {**of_both, (1, 13): (10, 80000), (1, 3): (6, 24)} if rank == 0 else of_both


def compiler_and_launcher(suffix, folder):
    """Returns the paths of an MPI that compiles; several may be installed, and some without headers."""
    found = [shutil.which(name + suffix) for name in ("mpicc", "mpirun")]
    (folder / "empty.c").write_text("#include <mpi.h>\n")
    check = [str(found[0]), "-fsyntax-only", folder / "empty.c"]
    return found if all(found) and subprocess.run(check, capture_output=True).returncode == 0 else None


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def profile(request, tmp_path_factory):
    """Returns the profile of both ranks."""
    folder = tmp_path_factory.mktemp("mpi")
    found = compiler_and_launcher(f".{request.param}", folder)
    if found is None:
        pytest.skip(f"mpicc.{request.param} does not compile, or there is no mpirun.{request.param}")
    (folder / "calls.c").write_text(PROGRAM)
    subprocess.run([found[0], "-O2", "-w", folder / "calls.c", "-o", folder / "calls", "-pthread"], check=True)
    options = ["--oversubscribe"] if request.param == "openmpi" else []
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    output = folder / "calls.terrace"
    words = ["-o", output, "--", found[1], *options, "-n", 2, folder / "calls"]
    done = run(*words, verb="record", env={**os.environ, **allowed})
    assert done.returncode == 0, done.stderr
    return output


def rows(profile, columns, table):
    with sqlite3.connect(profile) as database:
        return database.execute(
            f"SELECT rank, {columns} FROM {table} JOIN run ON run.id = {table}.run WHERE rank IS NOT NULL"
        ).fetchall()


def test_calls_and_bytes_equal_the_programs(profile):
    counted = {0: {}, 1: {}}
    for rank, function, calls, sent, received in rows(profile, "function, calls, sent, received", "mpi_call"):
        counted[rank][function] = (calls, sent, received)
    assert counted == CALLS


def test_messages_equal_the_programs(profile):
    counted = {0: {}, 1: {}}
    for rank, peer, size_class, number, size in rows(profile, "peer, size_class, messages, bytes", "mpi_message"):
        counted[rank][peer, size_class] = (number, size)
    assert counted == {rank: messages(rank) for rank in (0, 1)}


def test_time_of_calls_is_within_the_run(profile):
    for rank, function, time in rows(profile, "function, time", "mpi_call"):
        assert 0 < time < 300, (rank, function)


def test_show_prints_calls_and_imbalance(profile, terrace):
    text = " ".join(terrace("show", profile, "--rank", "0").stdout.split())
    assert "In MPI: " in text
    assert f"in {sum(calls for calls, _, _ in CALLS[0].values())} calls." in text
    by_size = "0B: 3, 1B: 1, 4B: 6, 8B: 5, 16B: 1, 32B: 8, 4KiB: 10."
    assert f"Messages sent, by size rounded down to a power of two: {by_size}" in text
    assert "Imbalance over 2 ranks: most time in MPI " in text


def test_show_json_has_all_functions(profile, terrace):

    document = json.loads(terrace("show", profile, "--rank", "1", "--json").stdout)["mpi"]
    functions = {
        one["function"]: (one["calls"], one["sent_bytes"], one["received_bytes"]) for one in document["functions"]
    }
    assert functions == CALLS[1]
    assert {one["rank"] for one in document["ranks_s"]} == {0, 1}
    counted = {(one["peer"], one["size_class"]): (one["messages"], one["bytes"]) for one in document["messages"]}
    assert counted == {(None if peer < 0 else peer, size): value for (peer, size), value in messages(1).items()}
