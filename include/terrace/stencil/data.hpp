// SPDX-License-Identifier: Apache-2.0
// Datasets, lines and reductions: handles of what loops use. See terrace/stencil.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/options.hpp"

namespace terrace::stencil {

class Engine;  // what keeps data, plans and runs chains (src/stencil)

enum class ReductionKind : std::uint8_t { sum, minimum, maximum };
enum class Number : std::uint8_t { float64, float32, int64, int32 };

template <class T>
[[nodiscard]] constexpr Number number_of() {
  if constexpr (std::is_same_v<T, double>)
    return Number::float64;
  else if constexpr (std::is_same_v<T, float>)
    return Number::float32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Number::int64;
  else {
    static_assert(std::is_same_v<T, std::int32_t>, "double, float, std::int64_t or std::int32_t");
    return Number::int32;
  }
}

// Nothing for types that are none of these: they can be in datasets, and not in files.
template <class T>
[[nodiscard]] constexpr std::optional<Number> known_number_of() {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> ||
                std::is_same_v<T, std::int32_t>)
    return number_of<T>();
  else
    return std::nullopt;
}

// How far a dataset goes beyond its block, by dimension: `low` points below (0 or less), `high` points above.
struct Halo {
  Point low{0, 0, 0};
  Point high{0, 0, 0};
};

// How the axes of the source of a transfer lie along those of its target: along the target's axis d goes the
// source's axis axes[d], from its end to its beginning where flipped[d].
struct Orientation {
  std::array<std::size_t, k_max_dims> axes{0, 1, 2};
  std::array<bool, k_max_dims> flipped{false, false, false};
};

// Numbers at the points of a block, or of a larger range. A handle: copies are the same dataset. At first all are
// 0.
template <class T>
class Dataset {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

 public:
  Dataset() = default;
  Dataset(Engine* engine, DatasetId id) : engine_(engine), id_(id) {}

  [[nodiscard]] DatasetId id() const { return id_; }
  [[nodiscard]] Engine& engine() const {
    if (!engine_) throw std::invalid_argument("a dataset that was made by Dataset() is used: take one of a block");
    return *engine_;
  }
  [[nodiscard]] bool is_of(const Engine* engine) const { return engine_ == engine; }
  [[nodiscard]] std::string_view name() const;
  // All points that it has.
  [[nodiscard]] Range range() const;
  // The numbers of a part of them, x fastest; runs what waits.
  [[nodiscard]] std::vector<T> get(const Range& range) const;
  [[nodiscard]] T get(const Point& point) const {
    return get(Range::from_to(point, {point[0] + 1, point[1] + 1, point[2] + 1})).front();
  }
  // Sets them; runs what waits. Throws std::invalid_argument for another count of numbers than the range has
  // points.
  void set(const Range& range, std::span<const T> values);

 private:
  Engine* engine_ = nullptr;
  DatasetId id_ = 0;
};

// Numbers along one axis, the same for all other coordinates. Small, and always in memory.
template <class T, std::size_t Axis>
class Line {
 public:
  Line() = default;
  // Throws std::invalid_argument where the end is before the beginning.
  Line(std::ptrdiff_t begin, std::ptrdiff_t end)
      : begin_(begin), numbers_(std::make_shared<std::vector<T>>(length(begin, end))) {}
  T& operator[](std::ptrdiff_t i) { return (*numbers_)[static_cast<std::size_t>(i - begin_)]; }
  const T& operator[](std::ptrdiff_t i) const { return (*numbers_)[static_cast<std::size_t>(i - begin_)]; }
  [[nodiscard]] std::ptrdiff_t begin() const { return begin_; }
  [[nodiscard]] std::ptrdiff_t end() const {
    return begin_ + (numbers_ ? static_cast<std::ptrdiff_t>(numbers_->size()) : 0);
  }
  [[nodiscard]] std::shared_ptr<const std::vector<T>> numbers() const { return numbers_; }

 private:
  static std::size_t length(std::ptrdiff_t begin, std::ptrdiff_t end) {
    if (end < begin)
      throw std::invalid_argument("a line from " + std::to_string(begin) + " to " + std::to_string(end) +
                                  ": its end is before its beginning");
    return static_cast<std::size_t>(end - begin);
  }

  std::ptrdiff_t begin_ = 0;
  std::shared_ptr<std::vector<T>> numbers_;
};

// A result of all points of the loops that enter values. value() runs what waits, and the next loops begin anew.
template <class T>
class Reduction {
 public:
  Reduction() = default;
  Reduction(Engine* engine, ReductionId id) : engine_(engine), id_(id) {}
  [[nodiscard]] T value() const;
  [[nodiscard]] ReductionId id() const { return id_; }
  [[nodiscard]] const Engine* engine() const { return engine_; }

 private:
  Engine* engine_ = nullptr;
  ReductionId id_ = 0;
};

template <class T>
struct Sum : Reduction<T> {
  using Reduction<T>::Reduction;
};
template <class T>
struct Minimum : Reduction<T> {
  using Reduction<T>::Reduction;
};
template <class T>
struct Maximum : Reduction<T> {
  using Reduction<T>::Reduction;
};

namespace detail {
TERRACE_STENCIL_PUBLIC [[nodiscard]] std::string_view name_of(const Engine& engine, DatasetId dataset);
TERRACE_STENCIL_PUBLIC [[nodiscard]] Range range_of(const Engine& engine, DatasetId dataset);
// Throws std::runtime_error where the dataset has not all of the range.
TERRACE_STENCIL_PUBLIC void check_range(const Engine& engine, DatasetId dataset, const Range& range);
// Throws std::invalid_argument.
[[noreturn]] TERRACE_STENCIL_PUBLIC void refuse_count(const Engine& engine, DatasetId dataset, const Range& range,
                                                      std::size_t count);
TERRACE_STENCIL_PUBLIC void get(Engine& engine, DatasetId dataset, const Range& range, std::byte* values);
TERRACE_STENCIL_PUBLIC void set(Engine& engine, DatasetId dataset, const Range& range, const std::byte* values);
TERRACE_STENCIL_PUBLIC void value_of(Engine& engine, ReductionId reduction, std::byte* number);
}  // namespace detail

template <class T>
std::string_view Dataset<T>::name() const {
  return detail::name_of(engine(), id_);
}
template <class T>
Range Dataset<T>::range() const {
  return detail::range_of(engine(), id_);
}
template <class T>
std::vector<T> Dataset<T>::get(const Range& range) const {
  detail::check_range(engine(), id_, range);
  std::vector<T> values(range.points());
  detail::get(engine(), id_, range, reinterpret_cast<std::byte*>(values.data()));
  return values;
}
template <class T>
void Dataset<T>::set(const Range& range, std::span<const T> values) {
  if (values.size() != range.points()) detail::refuse_count(engine(), id_, range, values.size());
  detail::set(engine(), id_, range, reinterpret_cast<const std::byte*>(values.data()));
}
template <class T>
T Reduction<T>::value() const {
  if (!engine_)
    throw std::invalid_argument(
        "a reduction that was made without a context is asked for its value: take "
        "Context::sum(), minimum() or maximum()");
  T number{};
  detail::value_of(*engine_, id_, reinterpret_cast<std::byte*>(&number));
  return number;
}

}  // namespace terrace::stencil
