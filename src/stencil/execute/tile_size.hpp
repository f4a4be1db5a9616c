// How large tiles are: by the cache at first, then by what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

using TileSize = std::array<std::ptrdiff_t, k_most_dims>;

// What a processor's own cache holds, in bytes; a stated default where the system does not say.
[[nodiscard]] std::size_t own_cache();

// Bytes that one point takes in all datasets of a chain.
[[nodiscard]] std::size_t bytes_of_point(std::span<const Loop> chain, std::span<const DatasetAbout> abouts);

// The tile whose data, with what its skew adds, fill the cache, and that reads the least more than once.
[[nodiscard]] TileSize model_size(std::span<const Loop> chain, std::size_t point_bytes, std::size_t cache);

// Chooses a size for each kind of chain: the model's at first, then its neighbours, of which the fastest stays.
class TileTuner {
 public:
  // A kind of chain, by loops and points.
  [[nodiscard]] TileSize next(std::uint64_t kind, const TileSize& model);
  void measured(std::uint64_t kind, double seconds);

 private:
  struct Kind {
    TileSize best{};
    TileSize tried{};
    double best_seconds = 0;
    std::vector<TileSize> left;  // to try
  };
  std::map<std::uint64_t, Kind> kinds_;
};

}  // namespace terrace::stencil
