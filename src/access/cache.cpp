#include "access/cache.hpp"

#include <algorithm>

namespace terrace::access {

Cache::Cache(Bytes size, std::uint32_t ways, Bytes line) {
  const std::uint64_t lines = std::max<std::uint64_t>(size.value / std::max<std::uint64_t>(line.value, 1), 1);
  ways_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ways, 1, lines));
  sets_ = lines / ways_;
  reciprocal_ = ~std::uint64_t{0} / sets_;
  words_ = std::make_unique<std::uint64_t[]>(sets_ * ways_);
}

std::uint64_t Cache::resident() const {
  return static_cast<std::uint64_t>(std::count_if(words_.get(), words_.get() + sets_ * ways_,
                                                  [](std::uint64_t word) { return word != 0; }));
}

}  // namespace terrace::access
