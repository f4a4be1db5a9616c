// What the doors share by which regions come in that a program tells tools of (Kokkos kernels, NVTX ranges, OpenMP
// parallel regions, Caliper annotations): the main thread's become phases (runtime/regions/region_phases.hpp),
// unless the program marks its phases itself. Without a session nothing is listened to.
#pragma once

#include <cstdint>
#include <string_view>

namespace terrace::agent {

class RegionAdapter {
 public:
  // What its regions are called in messages: "Kokkos kernels".
  constexpr explicit RegionAdapter(const char* kind) : kind_(kind) {}

  // Whether regions of the calling thread are of use to anybody.
  [[nodiscard]] static bool listens() noexcept;
  // A region ends by the key that it began with. Keys of different doors do not meet.
  void begin(std::uint64_t key, std::string_view name) const noexcept;
  void end(std::uint64_t key) const noexcept;

 private:
  [[nodiscard]] std::uint64_t own(std::uint64_t key) const;

  const char* kind_;
};

// The program has marked a loop or a phase itself: from now on regions are none.
void disable_implicit_regions() noexcept;

}  // namespace terrace::agent
