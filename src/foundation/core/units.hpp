// Quantities with units: bytes, seconds, bytes per second. Cheap value types, so that a bandwidth cannot be
// passed for a size; parsing and printing of what people write ("16GiB", "86ns", "16GB/s").
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

// "64MiB", "1.5GiB", "200MB", "4096", "4096B": IEC units are powers of two, SI units powers of ten; a letter
// alone, "4G", is an IEC unit. Upper and lower case are the same. Throws Error{Code::invalid} with the text and
// the accepted units when it cannot be read.
Bytes parse_bytes(std::string_view text);
// "250ps", "86ns", "1.5us", "2ms", "3s".
Seconds parse_seconds(std::string_view text);
// "16GB/s", "2000MB/s", "15GiB/s".
BytesPerSecond parse_bandwidth(std::string_view text);
// "2.4GHz", "1300MHz": in hertz.
double parse_frequency(std::string_view text);

// Exact where a whole number of a unit fits ("64MiB"), else three significant digits ("1.46GiB"). The exact
// form reads back as the same value.
std::string format(Bytes bytes);
std::string format(Seconds seconds);           // "86ns", "1.24s"
std::string format(BytesPerSecond bandwidth);  // "16GB/s"

// As many digits as it takes to read back as the same value, for files: "86ns", "200000001B", "15.36GB/s".
std::string format_exact(Bytes bytes);
std::string format_exact(Seconds seconds);
std::string format_exact(BytesPerSecond bandwidth);
std::string format_exact_frequency(double hertz);

}  // namespace terrace
