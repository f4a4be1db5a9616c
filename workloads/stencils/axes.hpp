// Declares helpers by which kernels and loops of the stencil programs are generic in the axis.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::programs {

// Returns the element `r` points further along an axis.
template <std::size_t Axis, class Field>
[[nodiscard]] decltype(auto) at(const Field& f, std::ptrdiff_t r) {
  if constexpr (Axis == 0)
    return f(r, 0, 0);
  else if constexpr (Axis == 1)
    return f(0, r, 0);
  else
    return f(0, 0, r);
}

// A group of halo layers at a mirror side of the grid. The mirror is halfway between the side's points and the
// first layer; the image of a layer is equally far inside. Layers share a loop as far as one stencil serves
// each of its points: from the last layer, the first one's image, 2 first - 1 away, must not be in a layer
// before the first. So `last` is at most 3 first - 2.
struct MirrorLayers {
  std::string name;  // name of the loop
  Range range;
  std::ptrdiff_t side;  // position of the side
  Stencil stencil;

  // Returns the distance along the axis from a layer's point to its image.
  [[nodiscard]] static std::ptrdiff_t image(std::ptrdiff_t side, std::ptrdiff_t point) {
    return 2 * (side - point) - 1;
  }

  // Returns all loops of both sides. `grid` covers, along the other axes, what the layers cover.
  [[nodiscard]] static std::vector<MirrorLayers> of(const Range& grid, std::size_t axis, std::ptrdiff_t layers) {
    std::vector<MirrorLayers> all;
    for (std::ptrdiff_t first = 1, last = 1; first <= layers; first = last + 1) {
      last = std::min(3 * first - 2, layers);
      for (const auto is_low : {true, false}) all.push_back(MirrorLayers(grid, axis, is_low, first, last));
    }
    return all;
  }

 private:
  // Layers are numbered from 1.
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
