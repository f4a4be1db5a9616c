// Foretells which line an instruction misses next, by the distance of its last two misses: what the caches' models
// keep of that line is fetched into the host's caches early. No figure depends on it.
#pragma once

#include <array>
#include <cstdint>

namespace terrace::observe {

class MissStrides {
 public:
  // Notes that the instruction at `site` missed `line`. Returns how many lines further on its next miss is likely
  // to be; 0 where its misses have no steady distance.
  std::uint64_t miss(std::uint64_t site, std::uint64_t line) {
    Entry& entry = entries_[(site ^ site >> k_bits) % k_entries];
    const std::uint64_t stride = line - entry.line;
    const bool is_steady = stride == entry.stride;
    entry = {line, stride};
    return is_steady ? stride : 0;
  }

 private:
  static constexpr unsigned k_bits = 7;
  static constexpr std::size_t k_entries = std::size_t{1} << k_bits;
  struct Entry {
    std::uint64_t line = 0;
    std::uint64_t stride = 0;  // modulo 2^64
  };
  std::array<Entry, k_entries> entries_{};
};

}  // namespace terrace::observe
