// Where a chunk of spilled memory is. Real and virtual memory over a file have the same states.
#pragma once

#include <cstdint>

#include "transfer/spill/foresight.hpp"

namespace terrace::transfer {

enum class Where : std::uint8_t {
  fresh,    // no content
  quiet,    // at its place
  ready,    // in a slot, to be used
  leaving,  // in a slot, to be written or dropped
  disk,
  reading,
  left  // at its place, and the program's own matter
};

// As the foresight shall see it. `needed`: what leaves, or has left, comes back.
constexpr Residence residence_of(Where where, bool needed) noexcept {
  switch (where) {
    case Where::fresh:
    case Where::left:
      return Residence::none;
    case Where::quiet:
      return Residence::quiet;
    case Where::ready:
    case Where::reading:
      return Residence::ready;
    case Where::leaving:
    case Where::disk:
      return needed ? Residence::ready : Residence::disk;
  }
  return Residence::none;
}

}  // namespace terrace::transfer
