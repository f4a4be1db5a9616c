// SPDX-License-Identifier: Apache-2.0
// Defines points, ranges and stencils of one to three dimensions, x first, for stencil programs and the library's
// planners. Missing dimensions are [0, 1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace terrace::stencil {

// Maximum number of dimensions.
inline constexpr std::size_t k_max_dims = 3;
inline constexpr std::size_t k_most_dims = k_max_dims;  // former name

// Index of a point, or an offset: x, y, z.
using Point = std::array<std::ptrdiff_t, k_max_dims>;

// The points [begin, end). Braces state begin and end of each axis: Range{{0, nx}, {0, ny}}. From two points:
// Range::from_to(begin, end).
struct Range {
  Point begin{0, 0, 0};
  Point end{1, 1, 1};
  // Number of dimensions that the program stated, 0 if unknown; loops and transfers check it.
  std::size_t sides = 0;

  Range() = default;
  // Takes begin and end of x, y, z, as far as the block has them.
  Range(std::initializer_list<std::array<std::ptrdiff_t, 2>> axes) : sides(axes.size()) {
    std::size_t d = 0;
    for (const auto& side : axes) {
      if (d == k_max_dims) break;
      begin[d] = side[0];
      end[d++] = side[1];
    }
  }
  [[nodiscard]] static Range from_to(const Point& begin, const Point& end) {
    Range range;
    range.begin = begin;
    range.end = end;
    return range;
  }
  friend bool operator==(const Range& a, const Range& b) { return a.begin == b.begin && a.end == b.end; }

  [[nodiscard]] std::ptrdiff_t length(std::size_t d) const {
    return std::max<std::ptrdiff_t>(end[d] - begin[d], 0);
  }
  [[nodiscard]] bool empty() const { return length(0) == 0 || length(1) == 0 || length(2) == 0; }
  [[nodiscard]] std::uint64_t points() const {
    return static_cast<std::uint64_t>(length(0)) * static_cast<std::uint64_t>(length(1)) *
           static_cast<std::uint64_t>(length(2));
  }
  [[nodiscard]] bool contains(const Point& p) const {
    for (std::size_t d = 0; d < k_max_dims; ++d)
      if (p[d] < begin[d] || p[d] >= end[d]) return false;
    return true;
  }
  [[nodiscard]] bool contains(const Range& other) const {
    if (other.empty()) return true;
    for (std::size_t d = 0; d < k_max_dims; ++d)
      if (other.begin[d] < begin[d] || other.end[d] > end[d]) return false;
    return true;
  }
};

// Returns the intersection; if it is empty, a range with begin == end in some dimension.
[[nodiscard]] inline Range intersection(const Range& a, const Range& b) {
  Range both;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    both.begin[d] = std::max(a.begin[d], b.begin[d]);
    both.end[d] = std::max(both.begin[d], std::min(a.end[d], b.end[d]));
  }
  return both;
}

// Returns the bounding range; if one range is empty, the other.
[[nodiscard]] inline Range hull(const Range& a, const Range& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Range both;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    both.begin[d] = std::min(a.begin[d], b.begin[d]);
    both.end[d] = std::max(a.end[d], b.end[d]);
  }
  return both;
}

// The offsets at which a loop reads a dataset, relative to its own point: Stencil{{0, 0}, {1, 0}}.
class Stencil {
 public:
  Stencil() : offsets_{Point{0, 0, 0}} {}
  Stencil(std::initializer_list<std::initializer_list<std::ptrdiff_t>> offsets) {
    for (const auto& offset : offsets) {
      Point point{0, 0, 0};
      std::copy_n(offset.begin(), std::min(offset.size(), k_max_dims), point.begin());
      offsets_.push_back(point);
    }
  }
  explicit Stencil(const Point& offset) : offsets_{offset} {}
  explicit Stencil(std::vector<Point> offsets) : offsets_(std::move(offsets)) {}

  [[nodiscard]] const std::vector<Point>& offsets() const { return offsets_; }
  [[nodiscard]] Point low() const { return end(false); }
  [[nodiscard]] Point high() const { return end(true); }

 private:
  [[nodiscard]] Point end(bool is_high) const {
    Point found = offsets_.empty() ? Point{0, 0, 0} : offsets_.front();
    for (const auto& offset : offsets_)
      for (std::size_t d = 0; d < k_max_dims; ++d)
        found[d] = is_high ? std::max(found[d], offset[d]) : std::min(found[d], offset[d]);
    return found;
  }

  std::vector<Point> offsets_;
};

// Returns a star stencil: offsets up to `reach` in both directions along each dimension.
[[nodiscard]] inline Stencil star(std::size_t dims, std::ptrdiff_t reach) {
  std::vector<Point> offsets{Point{0, 0, 0}};
  for (std::size_t d = 0; d < dims; ++d)
    for (std::ptrdiff_t r = 1; r <= reach; ++r)
      for (const auto step : {-r, r}) {
        Point point{0, 0, 0};
        point[d] = step;
        offsets.push_back(point);
      }
  return Stencil(std::move(offsets));
}

// Returns a box stencil: all offsets with components from `low` to `high`.
[[nodiscard]] inline Stencil box(std::size_t dims, std::ptrdiff_t low, std::ptrdiff_t high) {
  std::vector<Point> offsets;
  Point from{0, 0, 0}, to{0, 0, 0};
  for (std::size_t d = 0; d < dims; ++d) {
    from[d] = low;
    to[d] = high;
  }
  for (auto z = from[2]; z <= to[2]; ++z)
    for (auto y = from[1]; y <= to[1]; ++y)
      for (auto x = from[0]; x <= to[0]; ++x) offsets.push_back({x, y, z});
  return Stencil(std::move(offsets));
}

}  // namespace terrace::stencil
