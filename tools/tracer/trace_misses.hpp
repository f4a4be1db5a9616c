// SPDX-License-Identifier: Apache-2.0
// Counts the accesses of a trace that miss the caches of a machine, by object and by instruction. `terrace lab
// misses` calls it through the Python bindings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/hierarchy.hpp"
#include "tracer/trace_memory.hpp"
#include "tracer/trace_reader.hpp"

namespace terrace::tracer {

// Owner of the accessing code: the program's own, the C library's memory functions on its behalf (where the tracer
// could tell them), other libraries.
enum class TraceCode : std::uint8_t { program, memory_functions, libraries };
inline constexpr std::size_t k_trace_codes = 3;

struct TraceMissesOptions {
  Caches caches;
  std::uint64_t big_block = 16384;  // bytes from which on a block is an object of its own
  bool whole_run = false;           // count everything, not only the main loops
};

struct TraceMisses {
  // Where a trace has main loops, what ran outside of them fills the caches and is not counted (unless it is to
  // be).
  bool loops_only = false;
  std::array<std::uint64_t, k_trace_codes> accesses{};  // by TraceCode
  struct OfObject {
    TraceObject about;
    std::array<std::uint64_t, k_trace_codes> lines{};  // fetched from memory, by TraceCode
  };
  std::vector<OfObject> objects;  // in the order of their first mention; only those that were allocated or missed
  // Where the misses of an object come from, most first.
  struct Place {
    std::uint32_t object = 0;
    TraceCode code = TraceCode::program;
    std::string site;  // "makea cg.cpp:120", or the library
    std::uint64_t lines = 0;
  };
  std::vector<Place> places;
  TraceEnding ending;
};

// Reads the trace to its end. Throws Error{invalid} for caches that cannot be.
TraceMisses find_misses(TraceReader& trace, const TraceMissesOptions& options);

}  // namespace terrace::tracer
