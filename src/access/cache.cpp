#include "access/cache.hpp"

#include <algorithm>

namespace terrace::access {

Shape::Shape(Bytes size, std::uint32_t wanted_ways, Bytes line) {
  const std::uint64_t lines = std::max<std::uint64_t>(size.value / std::max<std::uint64_t>(line.value, 1), 1);
  ways = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted_ways, 1, lines));
  sets = lines / ways;
  reciprocal = ~std::uint64_t{0} / sets;
}

Cache::Cache(Bytes size, std::uint32_t ways, Bytes line)
    : shape_(size, ways, line),
      ways_at_(1 + signature_words(shape_.ways)),
      stride_(ways_at_ + shape_.ways),
      words_(std::make_unique<std::uint64_t[]>(shape_.sets * stride_)) {}

std::uint32_t Cache::to_front(std::uint64_t* set, std::uint32_t way) {
  const auto front = static_cast<std::uint32_t>(set[0]);
  if (way == front) return front;
  std::uint64_t* ways = ways_of(set);
  const std::uint64_t word = ways[way];
  std::uint32_t to = way;
  while (to != front) {
    const std::uint32_t from = (to == 0 ? shape_.ways : to) - 1;
    ways[to] = ways[from];
    set_signature(set + 1, to, set[1 + from / k_signatures] >> 8 * (from % k_signatures));
    to = from;
  }
  ways[front] = word;
  set_signature(set + 1, front, signature_of(word::line(word)));
  return front;
}

std::uint64_t Cache::resident() const {
  std::uint64_t lines = 0;
  for (std::uint64_t set = 0; set < shape_.sets; ++set) {
    const std::uint64_t* ways = words_.get() + set * stride_ + ways_at_;
    lines += static_cast<std::uint64_t>(
        std::count_if(ways, ways + shape_.ways, [](std::uint64_t w) { return w != 0; }));
  }
  return lines;
}

}  // namespace terrace::access
