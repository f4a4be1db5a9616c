// SPDX-License-Identifier: Apache-2.0
// Defines Value, a number of one kernel thread that knows which load it comes from, for the kernels of
// workloads/gpu. Arithmetic counts as instructions. The first use of a loaded value makes the thread wait for that
// load, as a GPU's scoreboard does. So a kernel is written as its algorithm is, and instructions and dependences
// are those of the code.
//
// Plain numbers are constants and cost nothing. A comparison counts two instructions: the test, and the branch or
// selection that uses it. Operations without a GPU instruction cost what the compiler emits (k_division and so on:
// rounded instruction counts of nvcc's code for Fermi, without -use_fast_math).
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "gpu_sim/simt/lane_log.hpp"

namespace terrace::gpu_sim {

inline constexpr std::uint32_t k_comparison = 2;
inline constexpr std::uint32_t k_division = 8;       // floating point: a reciprocal and refinements
inline constexpr std::uint32_t k_int_division = 16;  // by a divisor that the compiler does not know
inline constexpr std::uint32_t k_square_root = 8;
inline constexpr std::uint32_t k_transcendental = 10;  // exp, log, sin, cos

template <class T>
concept Plain = std::is_arithmetic_v<T>;

template <Plain T>
class Value {
 public:
  using Type = T;
  Value() = default;
  Value(T constant) : value_(constant) {}  // NOLINT(google-explicit-constructor): numbers mix with values
  Value(T value, LaneLog* log, std::uint32_t load = 0) : log_(log), value_(value), load_(load) {}
  // Converts from another type of number.
  template <Plain U>
  requires(!std::same_as<T, U>) Value(const Value<U>& other)  // NOLINT(google-explicit-constructor)
      : log_(other.log()), value_(static_cast<T>(other.needed())) {
    if (log_ != nullptr && std::is_floating_point_v<T> != std::is_floating_point_v<U>) log_->count(1);
  }

  // Returns the number for use: the thread waits for the load that it comes from.
  [[nodiscard]] T needed() const {
    if (load_ != 0) log_->use(load_);
    return value_;
  }
  [[nodiscard]] LaneLog* log() const { return log_; }

  template <class U>
  Value& operator+=(const U& other) {
    return *this = *this + other;
  }
  template <class U>
  Value& operator-=(const U& other) {
    return *this = *this - other;
  }
  template <class U>
  Value& operator*=(const U& other) {
    return *this = *this * other;
  }
  Value operator-() const { return {static_cast<T>(-needed()), log_}; }  // an operand's sign is free

 private:
  LaneLog* log_ = nullptr;
  T value_{};
  std::uint32_t load_ = 0;  // number of the load that returns it; 0: none
};

namespace detail {

template <class T>
struct IsValue : std::false_type {};
template <class T>
struct IsValue<Value<T>> : std::true_type {};

template <class T>
concept Operand = Plain<T> || IsValue<T>::value;
template <class A, class B>
concept Operands = Operand<A> && Operand<B> &&(IsValue<A>::value || IsValue<B>::value);

template <Plain T>
T needed(T constant) {
  return constant;
}
template <Plain T>
T needed(const Value<T>& value) {
  return value.needed();
}
template <Plain T>
LaneLog* log_of(T) {
  return nullptr;
}
template <Plain T>
LaneLog* log_of(const Value<T>& value) {
  return value.log();
}

// Applies a binary operation, waits for the loads of both operands, and counts its instructions.
template <class A, class B, class Operation>
auto combine(const A& a, const B& b, std::uint32_t instructions, Operation operation) {
  const auto x = needed(a);
  const auto y = needed(b);
  auto* log = log_of(a) != nullptr ? log_of(a) : log_of(b);
  if (log != nullptr) log->count(instructions);
  using Common = std::common_type_t<decltype(x), decltype(y)>;
  return Value<Common>(static_cast<Common>(operation(static_cast<Common>(x), static_cast<Common>(y))), log);
}

template <class A, class B, class Test>
bool compare(const A& a, const B& b, Test test) {
  const auto x = needed(a);
  const auto y = needed(b);
  auto* log = log_of(a) != nullptr ? log_of(a) : log_of(b);
  if (log != nullptr) log->count(k_comparison);
  using Common = std::common_type_t<decltype(x), decltype(y)>;
  return test(static_cast<Common>(x), static_cast<Common>(y));
}

// Applies a function of one operand, and counts its instructions.
template <class T, class Function>
Value<T> apply(const Value<T>& x, std::uint32_t instructions, Function function) {
  const auto value = x.needed();
  if (x.log() != nullptr) x.log()->count(instructions);
  return {static_cast<T>(function(value)), x.log()};
}

template <class A, class B>
constexpr std::uint32_t division_cost() {
  using Common = std::common_type_t<decltype(needed(std::declval<A>())), decltype(needed(std::declval<B>()))>;
  if (std::is_floating_point_v<Common>) return k_division;
  return Plain<B> ? 2 : k_int_division;  // a constant divisor: a multiplication and a shift
}

}  // namespace detail

template <class A, class B>
requires detail::Operands<A, B>
auto operator+(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x + y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator-(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x - y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator*(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x * y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator/(const A& a, const B& b) {
  return detail::combine(a, b, detail::division_cost<A, B>(), [](auto x, auto y) { return x / y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator%(const A& a, const B& b) {
  return detail::combine(a, b, detail::division_cost<A, B>() + 1, [](auto x, auto y) { return x % y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator&(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x & y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator^(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x ^ y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator>>(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x >> y; });
}
template <class A, class B>
requires detail::Operands<A, B>
auto operator<<(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return x << y; });
}

template <class A, class B>
requires detail::Operands<A, B>
bool operator<(const A& a, const B& b) {
  return detail::compare(a, b, [](auto x, auto y) { return x < y; });
}
template <class A, class B>
requires detail::Operands<A, B>
bool operator<=(const A& a, const B& b) {
  return detail::compare(a, b, [](auto x, auto y) { return x <= y; });
}
template <class A, class B>
requires detail::Operands<A, B>
bool operator>(const A& a, const B& b) {
  return detail::compare(a, b, [](auto x, auto y) { return x > y; });
}
template <class A, class B>
requires detail::Operands<A, B>
bool operator>=(const A& a, const B& b) {
  return detail::compare(a, b, [](auto x, auto y) { return x >= y; });
}
template <class A, class B>
requires detail::Operands<A, B>
bool operator==(const A& a, const B& b) {
  return detail::compare(a, b, [](auto x, auto y) { return x == y; });
}

template <class A, class B>
requires detail::Operands<A, B>
auto min(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return std::min(x, y); });
}
template <class A, class B>
requires detail::Operands<A, B>
auto max(const A& a, const B& b) {
  return detail::combine(a, b, 1, [](auto x, auto y) { return std::max(x, y); });
}
// Returns a b + c; one instruction.
template <class A, class B, class C>
requires(detail::Operands<A, B>&& detail::Operand<C>) auto fma(const A& a, const B& b, const C& c) {
  const auto addend = detail::needed(c);
  return detail::combine(a, b, 1, [&](auto x, auto y) { return x * y + addend; });
}
template <std::floating_point T>
Value<T> sqrt(const Value<T>& x) {
  return detail::apply(x, k_square_root, [](T value) { return std::sqrt(value); });
}
template <std::floating_point T>
Value<T> exp(const Value<T>& x) {
  return detail::apply(x, k_transcendental, [](T value) { return std::exp(value); });
}
template <std::floating_point T>
Value<T> log(const Value<T>& x) {
  return detail::apply(x, k_transcendental, [](T value) { return std::log(value); });
}
template <std::floating_point T>
Value<T> sin(const Value<T>& x) {
  return detail::apply(x, k_transcendental, [](T value) { return std::sin(value); });
}
template <std::floating_point T>
Value<T> cos(const Value<T>& x) {
  return detail::apply(x, k_transcendental, [](T value) { return std::cos(value); });
}
// An operand's sign is free.
template <Plain T>
Value<T> abs(const Value<T>& x) {
  return detail::apply(x, 0, [](T value) { return std::abs(value); });
}
// Returns `x` if the test holds, else `y`; both are computed already. The comparison has counted the selection.
template <Plain T>
Value<T> choose(bool test, const Value<T>& x, const Value<T>& y) {
  return test ? x : y;
}

}  // namespace terrace::gpu_sim
