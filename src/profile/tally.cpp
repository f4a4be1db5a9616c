// Summing misses by chunk. See tally.hpp.
#include "profile/tally.hpp"

namespace terrace::profile {

void Tally::count(const backend::Quantum& quantum) {
  clear();
  for (const auto& miss : quantum.misses) of(miss.chunk).add(miss.kind, 1, miss.weight);
}

void Tally::clear() {
  by_chunk_.clear();
  unowned_ = {};
}

void Tally::add(memory::ChunkId chunk, backend::MissKind kind, std::uint64_t misses, std::uint64_t weight) {
  of(chunk).add(kind, misses, weight);
}

ChunkTraffic& Tally::of(memory::ChunkId chunk) {
  return chunk == memory::k_no_chunk ? unowned_ : by_chunk_.at(chunk);
}

}  // namespace terrace::profile
