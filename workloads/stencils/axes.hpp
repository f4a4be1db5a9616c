// What kernels and loops need that are the same along each axis.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

// The element `r` points further along an axis.
template <std::size_t Axis, class Field>
[[nodiscard]] decltype(auto) at(const Field& f, std::ptrdiff_t r) {
  if constexpr (Axis == 0)
    return f(r, 0, 0);
  else if constexpr (Axis == 1)
    return f(0, r, 0);
  else
    return f(0, 0, r);
}

// Layers of points beyond a side of the grid that is a mirror, halfway between the side's points and the first
// layer; the image of each is as far within. Layers share a loop as far as its stencil allows, which holds at each
// of its points: from the last layer the first one's image, 2 first - 1 away, would be at a layer before the
// first. So the last is 3 first - 2 at most.
struct MirrorLayers {
  std::string name;  // of the loop
  Range range;
  std::ptrdiff_t side;  // where the grid begins or ends
  Stencil stencil;

  // How far along the axis the image is of a layer's point.
  [[nodiscard]] static std::ptrdiff_t image(std::ptrdiff_t side, std::ptrdiff_t point) {
    return 2 * (side - point) - 1;
  }

  // All loops of both sides. `grid` is as far along the other axes as the layers go.
  [[nodiscard]] static std::vector<MirrorLayers> of(const Range& grid, std::size_t axis, std::ptrdiff_t layers) {
    std::vector<MirrorLayers> all;
    for (std::ptrdiff_t first = 1, last = 1; first <= layers; first = last + 1) {
      last = std::min(3 * first - 2, layers);
      for (const auto is_low : {true, false}) all.push_back(MirrorLayers(grid, axis, is_low, first, last));
    }
    return all;
  }

 private:
  // Numbered from 1.
  MirrorLayers(const Range& grid, std::size_t axis, bool is_low, std::ptrdiff_t first, std::ptrdiff_t last)
      : range(grid), side(is_low ? grid.begin[axis] : grid.end[axis]) {
    static const std::array<std::string, k_max_dims> axes{"x", "y", "z"};
    name = "mirror " + axes[axis] + (is_low ? " low " : " high ") + std::to_string(first);
    if (last > first) name += " to " + std::to_string(last);
    range.begin[axis] = is_low ? side - last : side + first - 1;
    range.end[axis] = is_low ? side - first + 1 : side + last;
    std::vector<Point> offsets{Point{0, 0, 0}};
    for (auto number = first; number <= last; ++number) {
      offsets.push_back({0, 0, 0});
      offsets.back()[axis] = is_low ? 2 * number - 1 : 1 - 2 * number;
    }
    stencil = Stencil(offsets);
  }
};

}  // namespace terrace::stencil::programs
