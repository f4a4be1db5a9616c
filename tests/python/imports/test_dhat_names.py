"""Names of objects in DHAT profiles equal those of `terrace run`, so plans from them apply."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess

import pytest
from conftest import ROOT, run
from terrace.imports import dhat, dhat_names

MACHINE = ROOT / "acceptance" / "programs_lines" / "same_node.toml"
BIG = 1 << 20
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")

# Through functions that are inlined, allocators of the program's own, every call of the C library, a loop.
C = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double* inlined(long n) { return malloc(n * sizeof(double)); }
__attribute__((noinline)) double* make(long n) {
  double* p =
      calloc(n, sizeof(double));
  return p;
}
static void* xmalloc(size_t n) { void* p = malloc(n); if (!p) exit(1); return p; }
__attribute__((noinline)) void* my_alloc(size_t n) { void* p = xmalloc(n); memset(p, 0, n); return p; }
struct Grid { double *h, *k; };
void fill(struct Grid* g, long n) {
  g->h = my_alloc(n * sizeof(double));
  g->k = make(n);
}
int main(void) {
  const long n = 1 << 19;
  struct Grid g;
  double* a = inlined(n);
  double* b = make(n);
  fill(&g, n);
  double* rows[3];
  for (int i = 0; i < 3; ++i) rows[i] = malloc(n * sizeof(double));
  double* c;
  if (posix_memalign((void**)&c, 64, n * sizeof(double))) return 1;
  double* d = realloc(NULL, n * sizeof(double));
  char* s = strdup("small");
  memset(a, 0, n * 8), memset(c, 0, n * 8), memset(d, 0, n * 8);
  for (int i = 0; i < 3; ++i) memset(rows[i], 0, n * 8);
  double sum = 0;
  for (int k = 0; k < 3; ++k)
    for (long i = 0; i < n; ++i) sum += d[i] += 1;
  for (long i = 0; i < n; ++i) sum += a[i] + b[i] + c[i] + g.h[i] + g.k[i] + rows[0][i] + rows[1][i] + rows[2][i];
  printf("%g %s\n", sum, s);
  return 0;
}
"""
CPP = r"""
#include <cstdio>
#include <memory>
#include <vector>
namespace app {
template <class T>
struct Grid {
  std::vector<T> cells;
  explicit Grid(size_t n) : cells(n) {}
  void grow(size_t n) { cells.resize(n); }
};
struct Solver {
  explicit Solver(size_t n) : x(new double[n]), grid(n) {
    y = std::make_unique<double[]>(n);
    for (size_t i = 0; i < n; ++i) x[i] = 1;
  }
  double* x;
  std::unique_ptr<double[]> y;
  Grid<double> grid;
};
}  // namespace app
int main() {
  app::Solver solver(1 << 19);
  std::vector<float> v;
  v.reserve(1 << 20);
  for (int i = 0; i < 1 << 20; ++i) v.push_back(i);
  auto made = [](size_t n) { return new int[n](); };
  int* z = made(1 << 20);
  solver.grid.grow(1 << 20);
  std::printf("%g %d\n", solver.x[3] + v[7] + solver.y[5] + solver.grid.cells[9], z[1]);
}
"""


def counted(folder, source: str, options: list[str]):
    """Builds the program and runs it under DHAT."""
    compiler, name = ("g++", "p.cpp") if "namespace" in source else ("gcc", "p.c")
    (folder / name).write_text(source)
    subprocess.run([compiler, *options, name, "-o", "program"], cwd=folder, check=True)
    command = ["valgrind", "--tool=dhat", "--dhat-out-file=program.dhat", "./program"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)


def objects_of(profile, *more: str):
    with sqlite3.connect(profile) as opened:
        return sorted(
            opened.execute(f"SELECT name, size FROM object WHERE kind = 'heap' AND size > {BIG}" + "".join(more))
        )


@needs_valgrind
@pytest.mark.parametrize("options", [["-g", "-O0"], ["-g", "-O2"], ["-O2"], ["-g", "-O1", "-no-pie"]])
@pytest.mark.parametrize("source", [C, CPP], ids=["C", "C++"])
def test_dhat_objects_named_as_in_terrace_run(source, options, terrace, tmp_path):
    counted(tmp_path, source, options)
    done = terrace("import", tmp_path / "program.dhat", "-o", tmp_path / "x.terrace", "-m", MACHINE)
    assert done.returncode == 0, done.stderr
    ran = run("-q", "-m", MACHINE, "--fast", "64MiB", "-o", "r.terrace", "--", "./program", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert objects_of(tmp_path / "x.terrace") == objects_of(tmp_path / "r.terrace")
    assert len(objects_of(tmp_path / "r.terrace")) >= 6


@needs_valgrind
def test_dhat_plan_applied_by_terrace_run(terrace, tmp_path):
    counted(tmp_path, C, ["-g", "-O1"])
    terrace("import", tmp_path / "program.dhat", "-o", tmp_path / "x.terrace", "-m", MACHINE)
    # The one that is swept and written three times.
    planned = terrace("plan", tmp_path / "x.terrace", "--fast", "4MiB", "-o", tmp_path / "p.toml", "-m", MACHINE)
    assert planned.returncode == 0, planned.stderr
    ran = run("-m", MACHINE, "--plan", "p.toml", "-o", "r.terrace", "--", "./program", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "the program had no object" not in ran.stderr
    line = 1 + C[: C.index("realloc(NULL")].count("\n")
    with sqlite3.connect(tmp_path / "r.terrace") as opened:
        near = opened.execute(
            "SELECT DISTINCT object.name FROM object JOIN object_place AS at ON at.run = object.run AND "
            "at.object = object.id AND at.place = 0 WHERE kind = 'heap' AND at.chunks * chunk_size >= 4000000"
        ).fetchall()
    assert near == [(f"main p.c:{line}",)]


@needs_valgrind
def test_dhat_changed_program_uses_dhat_names(terrace, tmp_path):
    """The symbols of a changed program differ from those of the run."""
    counted(tmp_path, C, ["-g", "-O1"])
    named = dhat.read(tmp_path / "program.dhat")
    assert named.is_named_as_in_runs
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "p.c", "-o", "program"], cwd=tmp_path, check=True)
    changed = dhat.read(tmp_path / "program.dhat")
    assert not changed.is_named_as_in_runs
    (tmp_path / "program").unlink()
    gone = dhat.read(tmp_path / "program.dhat")
    assert gone.blocks == changed.blocks
    terrace("import", tmp_path / "program.dhat", "-o", tmp_path / "x.terrace", "-m", MACHINE)
    assert "object names are DHAT's" in terrace("show", tmp_path / "x.terrace").stdout


def test_dhat_equal_names_numbered_small_blocks_merged():
    blocks = [
        dhat.Block("a", 3 << 20, 30, 7, 3),
        dhat.Block("a", 1 << 20, 10, 1, 1),
        dhat.Block("b", 4096, 5, 5, 1),
        dhat.Block("c", 1 << 20, 6, 6, 1000),
    ]
    found = dhat._objects(blocks)
    assert {one.name: one.size for one in found} == {
        "(small blocks)": (1 << 20) + 4096,
        **dict.fromkeys(("a", "a#2", "a#3", "a#4"), 1 << 20),
    }
    for key in ("reads", "writes"):
        assert sum(getattr(one, key) for one in found) == sum(getattr(one, key) for one in blocks)


def test_leaf_returns_last_component():
    for text, leaf in (
        ("main", "main"),
        ("app::Grid<double>::grow(unsigned long)", "grow"),
        ("dlsym@@GLIBC_2.34", "dlsym"),
        ("main.lambda", "lambda"),
    ):
        assert dhat_names._leaf(text) == leaf
