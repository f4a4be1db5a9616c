// SPDX-License-Identifier: Apache-2.0
// Computes XXH3 (a 64-bit checksum) of a sequence of byte ranges, for the seals and datasets of checkpoints.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace terrace::stencil::io {

class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, std::size_t size) { XXH3_64bits_update(&state_, bytes, size); }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace terrace::stencil::io
