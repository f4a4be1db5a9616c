#include "observe/cache/cache.hpp"

#include <algorithm>

namespace terrace::observe {

Shape::Shape(Bytes size, std::uint32_t wanted_ways, Bytes line) {
  const std::uint64_t lines = std::max<std::uint64_t>(size.value / std::max<std::uint64_t>(line.value, 1), 1);
  ways = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(wanted_ways, 1, std::min<std::uint64_t>(lines, k_max_ways)));
  sets = lines / ways;
  reciprocal = ~std::uint64_t{0} / sets;
}

Cache::Cache(Bytes size, std::uint32_t ways, Bytes line)
    : shape_(size, ways, line),
      bytes_(signature_words(shape_.ways)),
      stride_(2 * bytes_ + shape_.ways),
      words_(std::make_unique<std::uint64_t[]>(shape_.sets * stride_)) {
  for (std::uint64_t set = 0; set < shape_.sets; ++set) begin_recency(words_.get() + set * stride_, shape_.ways);
}

std::uint64_t Cache::resident() const {
  std::uint64_t lines = 0;
  for (std::uint64_t set = 0; set < shape_.sets; ++set) {
    const std::uint64_t* ways = words_.get() + set * stride_ + 2 * bytes_;
    lines += static_cast<std::uint64_t>(
        std::count_if(ways, ways + shape_.ways, [](std::uint64_t w) { return w != 0; }));
  }
  return lines;
}

}  // namespace terrace::observe
