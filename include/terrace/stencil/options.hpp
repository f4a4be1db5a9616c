// SPDX-License-Identifier: Apache-2.0
// Declares the options with which a stencil program makes its context: executor, threads, tiles and memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

// Marks symbols that the shared library exports.
#if defined(__GNUC__)
#define TERRACE_STENCIL_PUBLIC [[gnu::visibility("default")]]
#else
#define TERRACE_STENCIL_PUBLIC
#endif

namespace terrace::stencil {

struct Options {
  // Executor: "serial" (loop by loop, one thread), "parallel" (loop by loop, several threads), "tiled"
  // (cache-sized tiles), "streamed" (data in files, tiles in memory), "gpu" (data in host memory, tiles in GPU
  // memory).
  std::string executor = "tiled";
  unsigned threads = 0;  // 0: all CPUs that the process may use

  // Tile size in points in x, y and z, for "tiled", "streamed" and "gpu". 0: the executor chooses, and tunes by
  // measurement.
  std::array<std::ptrdiff_t, 3> tile{0, 0, 0};

  // For "serial", "parallel" and "tiled": datasets are in files of the folder, mapped and paged by the kernel.
  bool is_paged = false;

  // For "streamed": maximum memory of datasets, and the folder of their files. For "gpu": maximum GPU memory.
  std::uint64_t memory = 0;
  std::string folder = ".";

  // For several ranks: maximum halo layers that a rank may need before a chain; a chain that needs more is
  // split, with an exchange before each part. 0: a quarter of the narrowest part of the block, so that
  // redundant work stays small, but at least 8, which cost less than messages.
  std::ptrdiff_t depth = 0;

  // File for the plans of all chains that ran, written as JSON when the context ends; `terrace show` prints it,
  // `terrace report` draws it. Each of several ranks writes its own, FILE.RANK. Empty: none.
  std::string plans{};

  // Returns these options, overridden by TERRACE_STENCIL:
  // "executor=streamed,threads=2,memory=2GiB,folder=/scratch". Blanks around words and values are ignored.
  // Throws std::runtime_error, which names the word, if it is unknown, invalid, duplicated, or without effect
  // with the executor in use.
  TERRACE_STENCIL_PUBLIC [[nodiscard]] static Options from_environment(Options options);
  [[nodiscard]] static Options from_environment() { return from_environment(Options{}); }
};

}  // namespace terrace::stencil
