// SPDX-License-Identifier: Apache-2.0
// Common base of the region adapters (Kokkos Tools, NVTX, OMPT, Caliper). Regions of the main thread become
// phases (runtime/regions/region_phases.hpp) unless the program uses explicit markers. Without a session regions
// are ignored.
#pragma once

#include <cstdint>
#include <string_view>

namespace terrace::agent {

class RegionAdapter {
 public:
  // `kind` names the regions in messages: "Kokkos kernels". Borrowed.
  constexpr explicit RegionAdapter(const char* kind) : kind_(kind) {}

  // Returns whether regions of the calling thread are evaluated.
  [[nodiscard]] static bool is_active() noexcept;
  // Begin and end a region, which is identified by its key. Keys of different adapters are distinct.
  void begin(std::uint64_t key, std::string_view name) const noexcept;
  void end(std::uint64_t key) const noexcept;

 private:
  [[nodiscard]] std::uint64_t unique_key(std::uint64_t key) const;

  const char* kind_;
};

// Ignores regions from here on, because the program marks its own loop or phases.
void disable_implicit_regions() noexcept;

}  // namespace terrace::agent
