// A checksum of results, so that two runs of a program can be compared to the last bit.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/random.hpp"

namespace workloads {

/// Of numbers in their order: every bit of each counts.
class Digest {
 public:
  template <typename Array>
  void add(const Array& numbers) {
    for (const auto& number : numbers) {
      static_assert(sizeof number % sizeof(std::uint64_t) == 0, "whole words, without padding");
      std::uint64_t parts[sizeof number / sizeof(std::uint64_t)];
      std::memcpy(parts, &number, sizeof number);
      for (const std::uint64_t part : parts) state_ = mix(state_ + 0x9e3779b97f4a7c15) ^ part;
    }
  }

  std::uint64_t value() const { return mix(state_); }

 private:
  std::uint64_t state_ = 0;
};

/// Prints the checksum of these arrays where WORKLOADS_DIGEST is in the environment. Else they are not read.
template <typename... Arrays>
void print_digest(const Arrays&... arrays) {
  if (std::getenv("WORKLOADS_DIGEST") == nullptr) return;
  Digest digest;
  (digest.add(arrays), ...);
  std::printf("Digest %016llx\n", static_cast<unsigned long long>(digest.value()));
}

}  // namespace workloads
