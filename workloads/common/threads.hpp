// Wraps the threads of a workload: OpenMP's, where the build has it (-fopenmp); else the pragmas are comments.
#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "common/options.hpp"

namespace workloads {

/// Declares --threads; what `threads` holds is the default.
inline void declare_threads(Options& options, std::uint64_t* threads) {
#ifdef _OPENMP
  options.count("--threads", threads, "number of OpenMP threads, up to 1024");
#else
  options.count("--threads", threads, "number of threads: 1 only, this build has no OpenMP");
#endif
}

/// Takes what was parsed to the OpenMP runtime. Exits 2 when the build cannot have so many.
inline void use_threads(const Options& options, std::uint64_t threads) {
#ifdef _OPENMP
  if (threads > 1024) options.fail("--threads: at most 1024");
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(threads));
#else
  if (threads > 1) options.fail("--threads: more than 1 needs a build with -fopenmp");
#endif
}

/// The number of the thread that asks, below --threads.
inline std::uint64_t thread_number() {
#ifdef _OPENMP
  return static_cast<std::uint64_t>(omp_get_thread_num());
#else
  return 0;
#endif
}

/// How many threads a parallel region has: --threads.
inline std::uint64_t thread_count() {
#ifdef _OPENMP
  return static_cast<std::uint64_t>(omp_get_max_threads());
#else
  return 1;
#endif
}

}  // namespace workloads
