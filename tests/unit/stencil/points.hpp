// Stores a value for each point of a range, and iterates over points.
#pragma once

#include <cstddef>
#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil::test {

template <class Action>
void for_points(const Range& range, Action action) {
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y)
      for (auto x = range.begin[0]; x < range.end[0]; ++x) action(Point{x, y, z});
}

template <class T>
class OfPoints {
 public:
  explicit OfPoints(const Range& range) : range_(range), all_(range.points()) {}
  [[nodiscard]] const Range& range() const { return range_; }
  [[nodiscard]] T& at(const Point& p) { return all_.at(number(p)); }
  [[nodiscard]] const T& at(const Point& p) const { return all_.at(number(p)); }

 private:
  [[nodiscard]] std::size_t number(const Point& p) const {
    return static_cast<std::size_t>(((p[2] - range_.begin[2]) * range_.length(1) + p[1] - range_.begin[1]) *
                                        range_.length(0) +
                                    p[0] - range_.begin[0]);
  }

  Range range_;
  std::vector<T> all_;
};

}  // namespace terrace::stencil::test
