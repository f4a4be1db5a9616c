// Summing misses by chunk. See tally.hpp.
#include "profile/tally.hpp"

namespace terrace::profile {

void Tally::count(const backend::Quantum& quantum) {
  using backend::MissKind;
  by_chunk_.clear();
  unowned_ = {};
  for (const auto& miss : quantum.misses) {
    auto& traffic = miss.chunk == memory::k_no_chunk ? unowned_ : by_chunk_.at(miss.chunk);
    switch (miss.kind) {
      case MissKind::prefetched:
        ++traffic.prefetched;
        break;
      case MissKind::independent:
        ++traffic.independent;
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

}  // namespace terrace::profile
