// Which one it is. See spill_engine.hpp.
#include "transfer/spill/spill_engine.hpp"

#include "transfer/spill/paged_spill.hpp"
#include "transfer/spill/spill.hpp"

namespace terrace::transfer {

std::unique_ptr<SpillEngine> make_spill(const SpillEngine::Parts& parts) {
  if (parts.paged) return std::make_unique<PagedSpill>(parts);
  return std::make_unique<Spill>(parts);
}

}  // namespace terrace::transfer
