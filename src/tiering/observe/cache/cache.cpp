// SPDX-License-Identifier: Apache-2.0
// Sets up the simulated set-associative caches to which the access pipeline of each thread (observe/pipeline)
// passes what the hooks report. Accesses are inline in the header, cache.hpp.
#include "observe/cache/cache.hpp"

#include <algorithm>

namespace terrace::observe {

CacheGeometry::CacheGeometry(Bytes size, std::uint32_t wanted_ways, Bytes line) {
  const std::uint64_t lines = std::max<std::uint64_t>(size.value / std::max<std::uint64_t>(line.value, 1), 1);
  ways = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(wanted_ways, 1, std::min<std::uint64_t>(lines, k_max_ways)));
  sets = lines / ways;
  reciprocal = ~std::uint64_t{0} / sets;
}

Cache::Cache(Bytes size, std::uint32_t ways, Bytes line)
    : geometry_(size, ways, line),
      byte_words_(signature_words(geometry_.ways)),
      stride_(2 * byte_words_ + geometry_.ways),
      words_(std::make_unique<std::uint64_t[]>(geometry_.sets * stride_)) {
  for (std::uint64_t set = 0; set < geometry_.sets; ++set)
    begin_recency(words_.get() + set * stride_, geometry_.ways);
}

std::uint64_t Cache::num_resident() const {
  std::uint64_t lines = 0;
  for (std::uint64_t set = 0; set < geometry_.sets; ++set) {
    const std::uint64_t* ways = words_.get() + set * stride_ + 2 * byte_words_;
    lines += static_cast<std::uint64_t>(
        std::count_if(ways, ways + geometry_.ways, [](std::uint64_t w) { return w != 0; }));
  }
  return lines;
}

}  // namespace terrace::observe
