// SPDX-License-Identifier: Apache-2.0
// Defines the accessors that a kernel gets, and the row loops that call it: at each point of a loop a kernel is
// called with one accessor for each argument; `x(1, 0)` is the element one to the right of its own point.
//
// With TERRACE_STENCIL_CHECKS defined every access is checked against the declared stencil and access
// (check.hpp); kernels are then many times slower.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/check.hpp"
#include "terrace/stencil/target.hpp"

namespace terrace::stencil {

// --- accessors ---

// Accessor of a dataset at a point. T is const if the loop only reads it.
template <class T>
class Accessor {
 public:
  TERRACE_STENCIL_BOTH Accessor(T* at, std::ptrdiff_t row, std::ptrdiff_t plane)
      : at_(at), row_(row), plane_(plane) {}
  TERRACE_STENCIL_BOTH T& operator()() const { return *at_; }
  TERRACE_STENCIL_BOTH T& operator()(std::ptrdiff_t x) const { return at_[x]; }
  TERRACE_STENCIL_BOTH T& operator()(std::ptrdiff_t x, std::ptrdiff_t y) const { return at_[x + y * row_]; }
  TERRACE_STENCIL_BOTH T& operator()(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) const {
    return at_[x + y * row_ + z * plane_];
  }

 private:
  T* at_;
  std::ptrdiff_t row_;
  std::ptrdiff_t plane_;
};

// Accessor of a line at a point: `h(1)` is the next value along its axis.
template <class T>
class LineAccessor {
 public:
  TERRACE_STENCIL_BOTH explicit LineAccessor(const T* at) : at_(at) {}
  TERRACE_STENCIL_BOTH const T& operator()(std::ptrdiff_t along = 0) const { return at_[along]; }

 private:
  const T* at_;
};

// Accessor of the point's index: `i[0]` is x.
class IndexAccessor {
 public:
  TERRACE_STENCIL_BOTH IndexAccessor(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) : at_{x, y, z} {}
  TERRACE_STENCIL_BOTH std::ptrdiff_t operator[](std::size_t d) const { return at_[d]; }

 private:
  std::ptrdiff_t at_[k_max_dims];
};

// Accessor of a sum: `sum += value` contributes a value.
template <class T>
class SumAccessor {
 public:
  TERRACE_STENCIL_BOTH explicit SumAccessor(T& into) : into_(into) {}
  TERRACE_STENCIL_BOTH void operator+=(T value) const { into_ += value; }

 private:
  T& into_;
};

// Accessor of a minimum: `minimum(value)` contributes a value.
template <class T>
class MinAccessor {
 public:
  TERRACE_STENCIL_BOTH explicit MinAccessor(T& into) : into_(into) {}
  TERRACE_STENCIL_BOTH void operator()(T value) const { into_ = value < into_ ? value : into_; }

 private:
  T& into_;
};

// Accessor of a maximum: `maximum(value)` contributes a value.
template <class T>
class MaxAccessor {
 public:
  TERRACE_STENCIL_BOTH explicit MaxAccessor(T& into) : into_(into) {}
  TERRACE_STENCIL_BOTH void operator()(T value) const { into_ = into_ < value ? value : into_; }

 private:
  T& into_;
};

// --- row loops ---

namespace detail {
TERRACE_STENCIL_BEGIN_TARGET
#ifdef TERRACE_STENCIL_CHECKS

template <class T>
using FieldCursor = CheckedCursor<T>;
template <class T, std::size_t Axis>
using LineCursor = CheckedLineCursor<T, Axis>;
template <class T, template <class> class Into>
using ReductionCursor = CheckedReductionCursor<T, Into>;

#else

template <class T>
struct FieldCursor {
  T* at;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
  FieldCursor(const Call& /*call*/, std::size_t /*argument*/, const Point& /*point*/, T* from, const View& view)
      : at(from), row(view.row), plane(view.plane) {}
  [[nodiscard]] Accessor<T> get(std::ptrdiff_t i) const { return {at + i, row, plane}; }
  void finish() const {}
};

template <class T, std::size_t Axis>
struct LineCursor {
  const T* at;
  LineCursor(const Call& /*call*/, const Point& point, const std::vector<T>& numbers, std::ptrdiff_t begin)
      : at(numbers.data() + (point[Axis] - begin)) {}
  [[nodiscard]] LineAccessor<T> get(std::ptrdiff_t i) const { return LineAccessor<T>(Axis == 0 ? at + i : at); }
  void finish() const {}
};

// The partial result of a row, in a register during the row loop.
template <class T, template <class> class Into>
struct ReductionCursor {
  T* kept;
  T value;
  [[nodiscard]] Into<T> get(std::ptrdiff_t /*i*/) { return Into<T>(value); }
  void finish() const { *kept = value; }
};

template <class Cursor>
concept Reducing = requires(Cursor cursor) {
  cursor.kept;
};

// Minimum and maximum do not depend on the order of points, except for the sign of a zero, which is
// unspecified. So a row has one partial value for each of k_lanes lanes, which the compiler vectorises.
inline constexpr std::ptrdiff_t k_lanes = 32;
template <class Cursor>
inline constexpr bool k_in_any_order = !Reducing<Cursor>;
template <class T>
inline constexpr bool k_in_any_order<ReductionCursor<T, MinAccessor> > = true;
template <class T>
inline constexpr bool k_in_any_order<ReductionCursor<T, MaxAccessor> > = true;
template <class Cursor>
struct InLanes {
  Cursor cursor;
  explicit InLanes(const Cursor& whole) : cursor(whole) {}
  [[nodiscard]] auto get(std::ptrdiff_t i, std::ptrdiff_t /*lane*/) { return cursor.get(i); }
  void finish() const {}
};
template <class T, template <class> class Into>
struct InLanes<ReductionCursor<T, Into> > {
  ReductionCursor<T, Into>& whole;
  T lanes[k_lanes];
  explicit InLanes(ReductionCursor<T, Into>& cursor) : whole(cursor) {
    for (auto& lane : lanes) lane = cursor.value;
  }
  [[nodiscard]] Into<T> get(std::ptrdiff_t /*i*/, std::ptrdiff_t lane) { return Into<T>(lanes[lane]); }
  void finish() const {
    for (const auto lane : lanes) whole.get(0)(lane);
  }
};

#endif

struct IndexCursor {
  Point at;
  [[nodiscard]] IndexAccessor get(std::ptrdiff_t i) const { return {at[0] + i, at[1], at[2]}; }
  void finish() const {}
};

// Runs the kernel over a row. Its points are independent, as the loop declares. The kernel is passed by value,
// so that stores cannot alias its captures. All its callees are inlined (flatten), because one remaining call
// prevents vectorisation. With checks this is off: compile times would explode.
//
// A row with a sum runs in the order of x. The pragma tells GCC only that there are no aliases, but would let
// clang reorder sums. It also makes clang warn where a row is not vectorised, which is no fault of the program;
// the warning is attributed to the enclosing function, so it is disabled here.
#if defined(TERRACE_STENCIL_CHECKS)
template <class Kernel, class... Cursors>
void walk_row(const Kernel kernel, const Call& call, const Point& first, std::ptrdiff_t length,
              Cursors... cursors) {
  for (std::ptrdiff_t i = 0; i < length; ++i)
    check_point(kernel, call, {first[0] + i, first[1], first[2]}, i, cursors...);
  (cursors.finish(), ...);
}
#else
#if defined(__clang__)
#define TERRACE_STENCIL_ANY_ORDER _Pragma("clang loop vectorize(enable)")
#define TERRACE_STENCIL_IN_ORDER
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#elif defined(__GNUC__)
#define TERRACE_STENCIL_ANY_ORDER _Pragma("GCC ivdep")
#define TERRACE_STENCIL_IN_ORDER _Pragma("GCC ivdep")
#else
#define TERRACE_STENCIL_ANY_ORDER
#define TERRACE_STENCIL_IN_ORDER
#endif
// Runs the kernel over a row whose reductions may be computed in any order (minimum, maximum), in lanes.
template <class Kernel, class... Wide>
void walk_lanes(const Kernel& kernel, std::ptrdiff_t length, Wide... wide) {
  for (std::ptrdiff_t i = 0; i < length; i += k_lanes) {
    const auto count = length - i < k_lanes ? length - i : k_lanes;
    TERRACE_STENCIL_ANY_ORDER
    for (std::ptrdiff_t lane = 0; lane < count; ++lane) kernel(wide.get(i + lane, lane)...);
  }
  (wide.finish(), ...);
}

template <class Kernel, class... Cursors>
[[gnu::flatten]]
#ifdef __clang__
[[gnu::noinline]]
#endif
void walk_row(const Kernel kernel, const Call& /*call*/, const Point& /*first*/, std::ptrdiff_t length,
              Cursors... cursors) {
  if constexpr (!(Reducing<Cursors> || ...)) {
    TERRACE_STENCIL_ANY_ORDER
    for (std::ptrdiff_t i = 0; i < length; ++i) kernel(cursors.get(i)...);
  } else if constexpr ((k_in_any_order<Cursors> && ...)) {
    walk_lanes(kernel, length, InLanes<Cursors>(cursors)...);
  } else {
    TERRACE_STENCIL_IN_ORDER
    for (std::ptrdiff_t i = 0; i < length; ++i) kernel(cursors.get(i)...);
  }
  (cursors.finish(), ...);
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#undef TERRACE_STENCIL_ANY_ORDER
#undef TERRACE_STENCIL_IN_ORDER
#endif

// Runs the kernel over all rows of a part of a loop: the body that executors call.
template <class Kernel, class... Binders>
void walk(const Kernel& kernel, const Call& call, const Binders&... binders) {
  const auto& range = call.range;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y) {
      const Point first{range.begin[0], y, z};
      walk_row(kernel, call, first, range.length(0), binders.cursor(call, first)...);
    }
}

TERRACE_STENCIL_END_TARGET
}  // namespace detail
}  // namespace terrace::stencil
