// SPDX-License-Identifier: Apache-2.0
// Defines quantities with units: bytes, seconds, bytes per second. Value types, so that a bandwidth cannot be
// passed as a size; and parsing and formatting of user notation ("16GiB", "86ns", "16GB/s"). Used throughout
// Terrace.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace {

struct Seconds {
  double value = 0;
  constexpr auto operator<=>(const Seconds&) const = default;
  constexpr Seconds& operator+=(Seconds o) {
    value += o.value;
    return *this;
  }
  constexpr Seconds& operator-=(Seconds o) {
    value -= o.value;
    return *this;
  }
};
constexpr Seconds operator+(Seconds a, Seconds b) { return {a.value + b.value}; }
constexpr Seconds operator-(Seconds a, Seconds b) { return {a.value - b.value}; }
constexpr Seconds operator*(double f, Seconds s) { return {f * s.value}; }
constexpr Seconds operator*(Seconds s, double f) { return {f * s.value}; }
constexpr Seconds operator/(Seconds s, double f) { return {s.value / f}; }
constexpr double operator/(Seconds a, Seconds b) { return a.value / b.value; }

struct Bytes {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) {
    value += o.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes o) {
    value -= o.value;
    return *this;
  }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
constexpr Bytes operator*(std::uint64_t f, Bytes b) { return {f * b.value}; }

struct BytesPerSecond {
  double value = 0;
  constexpr auto operator<=>(const BytesPerSecond&) const = default;
};
constexpr BytesPerSecond operator*(double f, BytesPerSecond b) { return {f * b.value}; }
constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return {static_cast<double>(b.value) / r.value}; }

// Parses "64MiB", "1.5GiB", "200MB", "4096", "4096B": IEC units are powers of two, SI units powers of ten; a
// single letter, "4G", is an IEC unit. Case-insensitive. This and the parsers below throw Error{Code::invalid}
// with the text and examples of accepted units.
Bytes parse_bytes(std::string_view text);
// Parses "250ps", "86ns", "1.5us", "2ms", "3s".
Seconds parse_seconds(std::string_view text);
// Parses "16GB/s", "2000MB/s", "15GiB/s".
BytesPerSecond parse_bandwidth(std::string_view text);
// Parses "2.4GHz", "1300MHz" and returns hertz.
double parse_frequency(std::string_view text);

// Format for people: exactly if the value is a whole number of a unit ("64MiB"), else to three significant digits
// ("1.46GiB").
std::string format(Bytes bytes);
std::string format(Seconds seconds);           // "86ns", "1.24s"
std::string format(BytesPerSecond bandwidth);  // "16GB/s"

// Format for files, with as many digits as parse back to the same value: "86ns", "200000001B", "15.36GB/s".
std::string format_exact(Bytes bytes);
std::string format_exact(Seconds seconds);
std::string format_exact(BytesPerSecond bandwidth);
std::string format_exact_frequency(double hertz);

}  // namespace terrace
