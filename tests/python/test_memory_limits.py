"""Limits of out-of-core memory: large alignments, core dumps, exhausted file descriptors."""

import subprocess

import pytest
from conftest import TERRACE, run

# blocks SHIFT: an aligned block of 8 MiB; says whether it is aligned and keeps its content, and how many MiB of
# private mappings a core may hold, by the kernel's own report.
BLOCKS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  const size_t alignment = (size_t)1 << atoi(argv[argc - 1]), size = 8 << 20;
  unsigned char* const block = aligned_alloc(alignment, size);
  if (!block) return puts("none"), 0;
  memset(block, 5, size);
  printf("%d %d\n", (uintptr_t)block % alignment == 0, block[size - 1]);
  FILE* const maps = fopen("/proc/self/smaps", "r");
  char line[4096];
  unsigned long kib = 0, dumped = 0;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "Size: %lu kB", &kib) == 1) continue;
    if (strncmp(line, "VmFlags:", 8) == 0 && !strstr(line, " dd") && !strstr(line, " sh")) dumped += kib;
  }
  printf("%lu\n", dumped >> 10);
  return 0;
}
"""
MAX_CORE_MIB = 256  # of a program with 8 MiB of data, its libraries and Terrace's own memory included


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    (folder / "blocks.c").write_text(BLOCKS)
    subprocess.run(["gcc", "-O1", folder / "blocks.c", "-o", folder / "blocks"], check=True)
    return folder / "blocks"


@pytest.mark.parametrize("shift", [21, 30, 40])
def test_aligned_block_is_aligned_or_refused_as_without_terrace(blocks, disk, shift):
    plain = subprocess.run([blocks, str(shift)], capture_output=True, text=True, check=True).stdout.splitlines()
    done = run("--memory", "64MiB", "--spill", disk, "--", blocks, shift)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] in (plain[0], "1 5")
    assert "no space for a block" not in done.stderr


@pytest.mark.parametrize("options", [("--memory", "64MiB"), ("--intent", "bandwidth")])
def test_core_dump_excludes_reserved_address_space(blocks, disk, options):
    spill = ("--spill", disk) if options[0] == "--memory" else ()
    done = run(*options, *spill, "--", blocks, 21)
    content, mib = done.stdout.splitlines()
    assert content == "1 5"
    assert int(mib) < MAX_CORE_MIB


@pytest.mark.parametrize("options", [("--intent", "bandwidth"), ("--memory", "64MiB", "--spill", "/var/tmp")])
def test_exhausted_file_descriptors_are_not_called_missing_rights(blocks, options):
    said = []
    for descriptors in (*range(4, 9), 12):  # how many Terrace itself needs is no promise
        limit = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
        words = [*limit, TERRACE, "run", *options, "--", blocks, "21"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert "the right to wait" not in done.stderr
        as_usual = (done.returncode, done.stdout[:4]) == (0, "1 5\n")
        assert as_usual or "descriptor" in done.stderr or "Too many open files" in done.stderr, done.stderr
        said.append(done.stderr)
    assert any("no file descriptor left" in text for text in said), said
