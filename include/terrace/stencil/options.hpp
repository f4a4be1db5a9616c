// SPDX-License-Identifier: Apache-2.0
// How chains are run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

// What the shared library shows of itself.
#if defined(__GNUC__)
#define TERRACE_STENCIL_PUBLIC [[gnu::visibility("default")]]
#else
#define TERRACE_STENCIL_PUBLIC
#endif

namespace terrace::stencil {

struct Options {
  // Who runs a chain: "serial" (one loop after the other, one thread), "parallel" (the same, several threads),
  // "tiled" (pieces that stay in the cache), "streamed" (data in files, pieces that stay in memory), "gpu" (data
  // in memory, pieces that are in a GPU's).
  std::string executor = "tiled";
  unsigned threads = 0;  // 0: as many as the process may use

  // Points of a tile in x, y and z; 0: as the executor chooses and corrects it by what it measures.
  // Of "tiled", "streamed" and "gpu".
  std::array<std::ptrdiff_t, 3> tile{0, 0, 0};

  // Of "serial", "parallel" and "tiled": datasets are in files of the folder, which the kernel pages.
  bool is_paged = false;

  // Of "streamed": how much memory datasets may take, and the folder of their files. Of "gpu": how much of the
  // GPU's memory.
  std::uint64_t memory = 0;
  std::string folder = ".";

  // Of several ranks: the most layers of others' points that a rank needs before a chain; one that needs more runs
  // in pieces, with an exchange before each. 0: a quarter of the narrowest part of the block, so that ranks do
  // little more than their own points, but 8 at least, which cost less than messages.
  std::ptrdiff_t depth = 0;

  // A file to which the plans of all chains that ran are written when the context ends, as JSON; `terrace show`
  // prints it, `terrace report` draws it. Of several ranks each has its own, FILE.RANK. Empty: none.
  std::string plans{};

  // These, and over them what TERRACE_STENCIL says: "executor=streamed,threads=2,memory=2GiB,folder=/scratch".
  // Blanks around words and values do not count. Throws std::runtime_error, which names the word, for one that is
  // unknown, makes no sense, is there twice, or has no effect with the executor that chains then have.
  TERRACE_STENCIL_PUBLIC [[nodiscard]] static Options from_environment(Options options);
  [[nodiscard]] static Options from_environment() { return from_environment(Options{}); }
};

}  // namespace terrace::stencil
