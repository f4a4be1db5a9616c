// SPDX-License-Identifier: Apache-2.0
// Declares the handles of datasets, lines and reductions that a stencil program passes to its loops. See
// terrace/stencil.hpp.
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

// Owns data, plans and runs chains (src/stencil).
class Engine;

// Operation of a reduction.
enum class ReductionKind : std::uint8_t { sum, minimum, maximum };
// Element types that files can contain.
enum class Number : std::uint8_t { float64, float32, int64, int32 };

// Returns the Number of an element type.
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

// Returns nothing for other types: these can be in datasets, but not in files.
template <class T>
[[nodiscard]] constexpr std::optional<Number> known_number_of() {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> ||
                std::is_same_v<T, std::int32_t>)
    return number_of<T>();
  else
    return std::nullopt;
}

// Halo widths by dimension: `low` points below the block (0 or less), `high` points above.
struct Halo {
  Point low{0, 0, 0};
  Point high{0, 0, 0};
};

// Maps the axes of a transfer's source to those of its target: the target's axis d is the source's axis
// axes[d], reversed if flipped[d].
struct Orientation {
  std::array<std::size_t, k_max_dims> axes{0, 1, 2};
  std::array<bool, k_max_dims> flipped{false, false, false};
};

// Handle of field data: values at the points of a block and its halo. Copies refer to the same dataset. All
// values are 0 at first.
template <class T>
class Dataset {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

 public:
  Dataset() = default;
  Dataset(Engine* engine, DatasetId id) : engine_(engine), id_(id) {}

  [[nodiscard]] DatasetId id() const { return id_; }
  [[nodiscard]] Engine& engine() const {
    if (!engine_)
      throw std::invalid_argument(
          "an empty dataset, made by Dataset(), is used: assign it one that Block::dataset() returns");
    return *engine_;
  }
  [[nodiscard]] bool is_of(const Engine* engine) const { return engine_ == engine; }
  [[nodiscard]] std::string_view name() const;
  // Returns its index range, halo included.
  [[nodiscard]] Range range() const;
  // Returns the values of a range, x fastest; runs all queued loops first.
  [[nodiscard]] std::vector<T> get(const Range& range) const;
  [[nodiscard]] T get(const Point& point) const {
    return get(Range::from_to(point, {point[0] + 1, point[1] + 1, point[2] + 1})).front();
  }
  // Sets the values of a range; runs all queued loops first. Throws std::invalid_argument if the number of
  // values differs from the points of the range.
  void set(const Range& range, std::span<const T> values);

 private:
  Engine* engine_ = nullptr;
  DatasetId id_ = 0;
};

// Values along one axis, constant in the other coordinates. Small, and always in memory.
template <class T, std::size_t Axis>
class Line {
 public:
  Line() = default;
  // Throws std::invalid_argument if end < begin.
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
      throw std::invalid_argument("a Line from " + std::to_string(begin) + " to " + std::to_string(end) +
                                  " ends before it begins: pass the smaller index first");
    return static_cast<std::size_t>(end - begin);
  }

  std::ptrdiff_t begin_ = 0;
  std::shared_ptr<std::vector<T>> numbers_;
};

// Handle of a reduction over all points of the loops that contribute to it. value() runs all queued loops and
// resets the reduction.
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

// Sum of what the points contribute, in an order that depends on neither threads nor tiles.
template <class T>
struct Sum : Reduction<T> {
  using Reduction<T>::Reduction;
};
// Smallest of the values that the points contribute.
template <class T>
struct Minimum : Reduction<T> {
  using Reduction<T>::Reduction;
};
// Largest of the values that the points contribute.
template <class T>
struct Maximum : Reduction<T> {
  using Reduction<T>::Reduction;
};

namespace detail {
TERRACE_STENCIL_PUBLIC [[nodiscard]] std::string_view name_of(const Engine& engine, DatasetId dataset);
TERRACE_STENCIL_PUBLIC [[nodiscard]] Range range_of(const Engine& engine, DatasetId dataset);
// Throws std::runtime_error unless the dataset contains the range.
TERRACE_STENCIL_PUBLIC void check_range(const Engine& engine, DatasetId dataset, const Range& range);
// Throws std::invalid_argument: the number of values is wrong.
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
        "value() was called on an empty reduction: assign it one that Context::sum(), minimum() or maximum() "
        "returns");
  T number{};
  detail::value_of(*engine_, id_, reinterpret_cast<std::byte*>(&number));
  return number;
}

}  // namespace terrace::stencil
