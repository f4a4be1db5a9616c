// SPDX-License-Identifier: Apache-2.0
// Initialises, combines and returns the results of reductions, for the four number types. The engine owns them,
// and executors combine the partial results of a loop when it has run.
#include "stencil/data/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace terrace::stencil {
namespace {

// Calls action(T{}) with the C++ type of the number.
template <class Action>
auto with_type(Number number, Action action) {
  switch (number) {
    case Number::float64:
      return action(double{});
    case Number::float32:
      return action(float{});
    case Number::int64:
      return action(std::int64_t{});
    case Number::int32:
      break;
  }
  return action(std::int32_t{});
}

// Returns the identity of the reduction: its result over no points.
template <class T>
T of_no_points(ReductionKind kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == ReductionKind::sum) return T{};
  const auto least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const auto most = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return kind == ReductionKind::minimum ? most : least;
}

// Returns the sum; accumulates its rounding error in `lost` (A. Neumaier, ZAMM 54, 1974).
template <class T>
T add(T sum, T value, double& lost) {
  const T total = sum + value;
  if constexpr (std::is_floating_point_v<T>)
    lost += std::abs(sum) >= std::abs(value) ? (sum - total) + value : (value - total) + sum;
  return total;
}

}  // namespace

ReductionId Reductions::add(ReductionKind kind, Number number) {
  ReductionState one{kind, number, {}};
  with_type(number, [&](auto zero) {
    const auto value = of_no_points<decltype(zero)>(kind);
    one.value.resize(sizeof value);
    std::memcpy(one.value.data(), &value, sizeof value);
  });
  all_.push_back(std::move(one));
  return static_cast<ReductionId>(all_.size() - 1);
}

std::vector<std::vector<std::byte>> Reductions::partials(const Loop& loop) const {
  const auto rows = static_cast<std::size_t>(loop.range.length(1) * loop.range.length(2));
  std::vector<std::vector<std::byte>> all;
  for (const auto& use : loop.reductions) {
    const auto& one = all_[use.reduction];
    with_type(one.number, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> values(rows, of_no_points<T>(one.kind));
      auto& bytes = all.emplace_back(rows * sizeof(T));
      if (rows > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
    });
  }
  return all;
}

void Reductions::combine(const Loop& loop, const std::vector<std::vector<std::byte>>& partials) {
  for (std::size_t use = 0; use < loop.reductions.size(); ++use) {
    auto& one = all_[loop.reductions[use].reduction];
    const auto& bytes = partials[use];
    with_type(one.number, [&](auto zero) {
      using T = decltype(zero);
      T result{};
      std::memcpy(&result, one.value.data(), sizeof result);
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T value{};
        std::memcpy(&value, &bytes[at], sizeof value);
        if (one.kind == ReductionKind::sum)
          result = terrace::stencil::add(result, value, one.compensation);
        else if (one.kind == ReductionKind::minimum)
          result = value < result ? value : result;
        else
          result = result < value ? value : result;
      }
      std::memcpy(one.value.data(), &result, sizeof result);
    });
  }
}

std::size_t Reductions::best(ReductionId reduction, const std::byte* partials, std::size_t count) const {
  const auto& one = all_[reduction];
  return with_type(one.number, [&](auto zero) {
    using T = decltype(zero);
    const auto at = [&](std::size_t i) {
      T value{};
      std::memcpy(&value, partials + i * sizeof value, sizeof value);
      return value;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (one.kind == ReductionKind::minimum ? at(i) < at(best) : at(best) < at(i)) best = i;
    return best;
  });
}

void Reductions::take_result(ReductionId reduction, std::byte* number) {
  auto& one = all_[reduction];
  with_type(one.number, [&](auto zero) {
    using T = decltype(zero);
    T result{};
    std::memcpy(&result, one.value.data(), sizeof result);
    if constexpr (std::is_floating_point_v<T>) result = static_cast<T>(result + one.compensation);
    std::memcpy(number, &result, sizeof result);
    result = of_no_points<T>(one.kind);
    std::memcpy(one.value.data(), &result, sizeof result);
    one.compensation = 0;
  });
}

}  // namespace terrace::stencil
