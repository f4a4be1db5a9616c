// SPDX-License-Identifier: Apache-2.0
// Sums a quantum's misses by chunk, for the simulator and the collectors. See tally.hpp.
#include "observe/tally.hpp"

namespace terrace::observe {

void Tally::count(const Quantum& quantum) {
  clear();
  for (const auto& miss : quantum.misses) of(miss.chunk).add(miss.kind, 1, miss.weight);
}

void Tally::clear() {
  by_chunk_.clear();
  unowned_ = {};
}

void Tally::add(ChunkId chunk, MissKind kind, std::uint64_t misses, std::uint64_t weight) {
  of(chunk).add(kind, misses, weight);
}

ChunkTraffic& Tally::of(ChunkId chunk) { return chunk == memory::k_no_chunk ? unowned_ : by_chunk_.at(chunk); }

}  // namespace terrace::observe
