// See copier.hpp.
#include "transfer/copier.hpp"

namespace terrace::transfer {

CopiersByWay::CopiersByWay(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger)
    : places_(machine.places().size()), of_(places_ * places_, nullptr) {
  const auto& places = machine.places();
  for (const auto* variant : copiers()) {
    Copier* made = nullptr;
    for (std::size_t way = 0; way < of_.size(); ++way) {
      if (of_[way] || !variant->serves(places[way / places_], places[way % places_])) continue;
      if (!made) made = made_.emplace_back(variant->make(machine, chunks, ledger)).get();
      of_[way] = made;
    }
  }
}

}  // namespace terrace::transfer
