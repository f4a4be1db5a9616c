// SPDX-License-Identifier: Apache-2.0
// Defines the arguments that a program passes to a loop after its kernel: read(u), write(v), into(sum) and so on.
// See terrace/stencil.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "terrace/stencil/data.hpp"
#include "terrace/stencil/kernel.hpp"

namespace terrace::stencil {

namespace detail {
TERRACE_STENCIL_BEGIN_TARGET

// Index of an argument among those of its kind: views count dataset arguments, partials reductions.
struct Position {
  std::size_t view = 0;
  std::size_t partial = 0;
  std::size_t line = 0;
};

template <class T, Access How>
struct FieldArgument {  // made by read(), write(), read_write() and increment()
  using Element = std::conditional_t<How == Access::read, const T, T>;
  Dataset<T> dataset;
  Stencil stencil;

  [[nodiscard]] bool is_of(const Engine* engine) const { return dataset.is_of(engine); }
  void describe(Loop& loop, Position& position) {
    at = position.view++;
    loop.arguments.push_back(
        {dataset.id(), dataset.name(), How, stencil, stencil.low(), stencil.high(), sizeof(T)});
    stencil = Stencil{};  // moved into the loop
  }
  [[nodiscard]] FieldCursor<Element> cursor(const Call& call, const Point& point) const {
    const auto& view = call.views[at];
    auto* const from =
        reinterpret_cast<Element*>(view.origin) + point[0] + point[1] * view.row + point[2] * view.plane;
    return {call, at, point, from, view};
  }
  std::size_t at = 0;
};

template <class T, std::size_t Axis>
struct LineArgument {
  std::shared_ptr<const std::vector<T>> numbers;
  std::ptrdiff_t begin;
  std::size_t at = 0;

  [[nodiscard]] bool is_of(const Engine* /*engine*/) const { return true; }
  void describe(Loop& loop, Position& position) {
    at = position.line++;
    const auto count = numbers ? numbers->size() : 0;
    loop.lines.push_back({numbers, count > 0 ? reinterpret_cast<const std::byte*>(numbers->data()) : nullptr,
                          count * sizeof(T), Axis, begin, begin + static_cast<std::ptrdiff_t>(count)});
  }
  [[nodiscard]] LineCursor<T, Axis> cursor(const Call& call, const Point& point) const {
    return {call, point, *numbers, begin};
  }
};

struct IndexArgument {
  [[nodiscard]] bool is_of(const Engine* /*engine*/) const { return true; }
  void describe(Loop& /*loop*/, Position& /*position*/) const {}
  [[nodiscard]] IndexCursor cursor(const Call& /*call*/, const Point& point) const { return {point}; }
};

template <class T, template <class> class Into>
struct ReductionArgument {
  ReductionId reduction;
  const Engine* engine;
  std::size_t at = 0;

  [[nodiscard]] bool is_of(const Engine* other) const { return engine == other; }
  void describe(Loop& loop, Position& position) {
    at = position.partial++;
    loop.reductions.push_back({reduction});
  }
  [[nodiscard]] ReductionCursor<T, Into> cursor(const Call& call, const Point& point) const {
    auto* const kept = reinterpret_cast<T*>(call.partials[at]) + partial_row(call.loop.range, point[1], point[2]);
    return {kept, *kept};
  }
};

template <class T>
concept LoopArgument = requires(const T& argument, const Call& call, const Point& point) {
  argument.cursor(call, point);
};

TERRACE_STENCIL_END_TARGET
}  // namespace detail

// Declares a dataset that is read at the offsets, by default at the loop's own point.
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::read> read(const Dataset<T>& dataset, Stencil stencil = {}) {
  return {dataset, std::move(stencil)};
}
// Declares a dataset that is written at the loop's own point, and not read.
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::write> write(const Dataset<T>& dataset) {
  return {dataset, {}};
}
// Declares a dataset that is written at the loop's own point and read at the offsets. These may exclude the own
// point; other offsets must lead out of the loop's range.
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::read_write> read_write(const Dataset<T>& dataset,
                                                                      Stencil stencil = {}) {
  return {dataset, std::move(stencil)};
}
// Declares a dataset to whose values the loop adds at its own point.
template <class T>
[[nodiscard]] detail::FieldArgument<T, Access::increment> increment(const Dataset<T>& dataset) {
  return {dataset, {}};
}
// Declares values along an axis, as of when the loop runs: change them only while no loop is queued.
template <class T, std::size_t Axis>
[[nodiscard]] detail::LineArgument<T, Axis> read(const Line<T, Axis>& line) {
  return {line.numbers(), line.begin(), 0};
}
// Passes the point's index to the kernel.
[[nodiscard]] inline detail::IndexArgument index() { return {}; }
// Declares a reduction to which each point may contribute.
template <class T>
[[nodiscard]] detail::ReductionArgument<T, SumAccessor> into(const Sum<T>& sum) {
  return {sum.id(), sum.engine(), 0};
}
template <class T>
[[nodiscard]] detail::ReductionArgument<T, MinAccessor> into(const Minimum<T>& minimum) {
  return {minimum.id(), minimum.engine(), 0};
}
template <class T>
[[nodiscard]] detail::ReductionArgument<T, MaxAccessor> into(const Maximum<T>& maximum) {
  return {maximum.id(), maximum.engine(), 0};
}

}  // namespace terrace::stencil
