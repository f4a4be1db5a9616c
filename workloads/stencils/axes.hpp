// What kernels and loops need that are the same along each axis.
#pragma once

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

// A layer of points beyond a side of the grid that is a mirror, halfway between the side's points and the first
// layer. Its image is as far within. Each layer is a loop of its own: the images are at other offsets.
struct MirrorLayer {
  std::string name;  // of the loop
  Range range;
  std::ptrdiff_t image;  // how far along the axis it is
  Stencil stencil;       // of the loop

  // `side` is the grid, as far along the other axes as the layer goes; `number` counts from 1.
  MirrorLayer(const Range& side, std::size_t axis, bool is_low, std::ptrdiff_t number)
      : range(side), image(is_low ? 2 * number - 1 : 1 - 2 * number) {
    static const std::array<std::string, k_most_dims> axes{"x", "y", "z"};
    name = "mirror " + axes[axis] + (is_low ? " low " : " high ") + std::to_string(number);
    range.begin[axis] = is_low ? side.begin[axis] - number : side.end[axis] + number - 1;
    range.end[axis] = range.begin[axis] + 1;
    Point offset{0, 0, 0};
    offset[axis] = image;
    stencil = Stencil(std::vector<Point>{Point{0, 0, 0}, offset});
  }
};

}  // namespace terrace::stencil::programs
