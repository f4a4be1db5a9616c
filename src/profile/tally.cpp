// Summing misses by chunk. See tally.hpp.
#include "profile/tally.hpp"

namespace terrace::profile {

void Tally::count(const backend::Quantum& quantum) {
  using backend::MissKind;
  clear();
  for (const auto& miss : quantum.misses) {
    auto& traffic = miss.chunk == memory::k_no_chunk ? unowned_ : by_chunk_.at(miss.chunk);
    switch (miss.kind) {
      case MissKind::prefetched:
        ++traffic.prefetched;
        break;
      case MissKind::independent:
        ++traffic.independent;
        traffic.weight += miss.weight;
        break;
      case MissKind::dependent:
        ++traffic.dependent;
        traffic.weight += miss.weight;
        break;
      case MissKind::writeback:
        ++traffic.written;
        break;
    }
  }
}

void Tally::clear() {
  by_chunk_.clear();
  unowned_ = {};
}

void Tally::add(memory::ChunkId chunk, backend::MissKind kind, std::uint64_t misses, std::uint64_t weight) {
  using backend::MissKind;
  auto& traffic = chunk == memory::k_no_chunk ? unowned_ : by_chunk_.at(chunk);
  switch (kind) {
    case MissKind::prefetched:
      traffic.prefetched += misses;
      break;
    case MissKind::independent:
      traffic.independent += misses;
      traffic.weight += weight;
      break;
    case MissKind::dependent:
      traffic.dependent += misses;
      traffic.weight += weight;
      break;
    case MissKind::writeback:
      traffic.written += misses;
      break;
  }
}

}  // namespace terrace::profile
