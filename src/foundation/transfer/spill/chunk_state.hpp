// SPDX-License-Identifier: Apache-2.0
// Defines the states of a spilled chunk (2 MiB of out-of-core memory), and their projection onto the states that a
// replacement policy sees. Used by the pager (spill.hpp) and by its simulation (sim/engine/virtual_spill.hpp).
#pragma once

#include <cstdint>

#include "transfer/spill/replacement_policy.hpp"

namespace terrace::transfer {

enum class ChunkState : std::uint8_t {
  empty,              // no content
  mapped,             // resident at its address
  unmapped_resident,  // resident in a pool slot, to be mapped on the next fault
  evicting,           // resident in a pool slot, to be written or dropped
  swapped_out,        // in the file only
  reading,            // being read into a pool slot
  unmanaged           // at its address, handed back to the program (SpillEngine::unmanage)
};

// Returns the state as the policy sees it. `needed`: a chunk that is being evicted, or is swapped out, will
// return.
constexpr PageState page_state_of(ChunkState state, bool needed) noexcept {
  switch (state) {
    case ChunkState::empty:
    case ChunkState::unmanaged:
      return PageState::empty;
    case ChunkState::mapped:
      return PageState::mapped;
    case ChunkState::unmapped_resident:
    case ChunkState::reading:
      return PageState::unmapped_resident;
    case ChunkState::evicting:
    case ChunkState::swapped_out:
      return needed ? PageState::unmapped_resident : PageState::swapped_out;
  }
  return PageState::empty;
}

}  // namespace terrace::transfer
