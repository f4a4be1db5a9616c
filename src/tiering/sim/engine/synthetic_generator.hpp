// SPDX-License-Identifier: Apache-2.0
// Generates access streams with a closed form: STREAM's kernels over arrays that exceed every cache, and a pointer
// chase. The calibration (calibrate.hpp) measures the constants of a machine with them, and tests check the time
// law. Quanta look as the observe module makes them of real programs once its prefetcher is trained. Every line
// that a kernel reads is prefetched; a stored line is read first and written back later. A hop of the chase is one
// dependent miss that exposes a whole latency.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "memory/chunk_table.hpp"
#include "observe/access_sink.hpp"

namespace terrace::sim {

// An array of `lines` lines on consecutive chunks of `chunk_lines` lines each.
struct SyntheticArray {
  ChunkId first = 0;
  std::uint32_t lines = 0;
  std::uint32_t chunk_lines = 0;
};

enum class StreamKernel : std::uint8_t {
  sum,    //  s += a[i]                  (read bandwidth)
  copy,   //  c[i] = a[i]                the four of STREAM (McCalpin), on doubles
  scale,  //  b[i] = s * c[i]
  add,    //  c[i] = a[i] + b[i]
  triad   //  a[i] = b[i] + s * c[i]
};

// Returns the number of arrays that a kernel reads but does not write; it writes at most one more.
std::uint32_t arrays_read(StreamKernel kernel);
bool writes(StreamKernel kernel);

class SyntheticGenerator {
 public:
  SyntheticGenerator(observe::AccessSink& sink, Bytes line, std::uint32_t quantum_accesses = 65536)
      : sink_(sink), line_(line), quantum_accesses_(quantum_accesses) {}

  // Runs one pass over all lines. `arrays`: those that are read, then the one that is written, all of one length.
  void stream(StreamKernel kernel, std::span<const SyntheticArray> arrays);
  // Runs `hops` loads, each at an address that the previous load returned, over lines in an order without pattern.
  void chase(const SyntheticArray& array, std::uint64_t hops);
  // Ends the quantum here.
  void flush();

 private:
  void miss(const SyntheticArray& array, std::uint32_t line, observe::MissKind kind, std::uint8_t weight = 0);
  void add_accesses(std::uint64_t accesses);

  observe::AccessSink& sink_;
  Bytes line_;
  std::uint32_t quantum_accesses_;
  std::uint64_t accesses_ = 0;
  std::uint64_t missed_ = 0;  // of them
  std::vector<observe::Miss> misses_;
  std::uint64_t generator_ = 1;
};

}  // namespace terrace::sim
