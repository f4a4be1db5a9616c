// The debug mode: with TERRACE_STENCIL_CHECKS defined, each access of a kernel is held against what its loop
// declares. Found are: an offset that the stencil does not have; a kernel's own point that is to be written and
// was not, or was read though that is not declared; a change at another point. The first of them ends the chain
// with std::logic_error, which names loop, dataset, point and offset.
#pragma once

#ifdef TERRACE_STENCIL_CHECKS

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "terrace/stencil/chain.hpp"

namespace terrace::stencil::detail {

[[nodiscard]] inline std::string text_of(const Point& point) {
  std::string text;
  for (const auto i : point) text.append(text.empty() ? "(" : ", ").append(std::to_string(i));
  return text.append(")");
}

// Out of line: a row's walk would have the text's making at each access.
[[noreturn, gnu::noinline]] inline void violation(const Call& call, std::size_t argument, const Point& at,
                                                  std::string_view what) {
  std::string text("loop '");
  text.append(call.loop.name).append("', point ").append(text_of(at)).append(", dataset '");
  text.append(call.loop.arguments[argument].name).append("': ").append(what);
  throw std::logic_error(text);
}

// Of an access at an offset.
[[noreturn, gnu::noinline]] inline void violation(const Call& call, std::size_t argument, const Point& at,
                                                  const Point& offset, std::string_view what) {
  violation(call, argument, at, std::string("the offset ").append(text_of(offset)).append(what));
}

// Whether a loop says that it reads a dataset at the offset.
[[nodiscard]] inline bool is_read(const Argument& argument, const Point& offset) {
  const auto& offsets = argument.stencil.offsets();
  return reads(argument.access) && std::ranges::find(offsets, offset) != offsets.end();
}

template <class T>
class CheckedAccessor {
 public:
  CheckedAccessor(const Call& call, std::size_t argument, const Point& point, T* at, std::ptrdiff_t row,
                  std::ptrdiff_t plane)
      : call_(call), argument_(argument), point_(point), at_(at), row_(row), plane_(plane) {}
  T& operator()(std::ptrdiff_t x = 0, std::ptrdiff_t y = 0, std::ptrdiff_t z = 0) const {
    const auto& argument = call_.loop.arguments[argument_];
    const Point offset{x, y, z};
    const auto is_written = writes(argument.access) && offset == Point{0, 0, 0};
    if (!is_written && !is_read(argument, offset))
      violation(call_, argument_, point_, offset, " is not in its stencil");
    return at_[x + y * row_ + z * plane_];
  }

 private:
  const Call& call_;
  std::size_t argument_;
  Point point_;
  T* at_;
  std::ptrdiff_t row_;
  std::ptrdiff_t plane_;
};

// What is written and not read holds this pattern before the kernel runs: in floating point a quiet NaN that keeps
// its bits through arithmetic.
template <class T>
[[nodiscard]] T poison() {
  T value{};
  if constexpr (sizeof(T) == 8) {
    const std::uint64_t bits = 0x7ff8'5ee5'0bad'5ee5;
    std::memcpy(&value, &bits, sizeof value);
  } else if constexpr (sizeof(T) == 4) {
    const std::uint32_t bits = 0x7fe5'0bad;
    std::memcpy(&value, &bits, sizeof value);
  }
  return value;
}

template <class T>
[[nodiscard]] bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
struct CheckedCursor {
  using Value = std::remove_const_t<T>;

  CheckedCursor(const Call& to, std::size_t number, const Point& from, T* start, const View& view)
      : call(to), argument(number), point(from), at(start), row(view.row), plane(view.plane) {}

  [[nodiscard]] CheckedAccessor<T> get(std::ptrdiff_t i) const {
    return {call, argument, here(i), at + i, row, plane};
  }
  void finish() const {}

  void before(std::ptrdiff_t i) {
    if constexpr (!std::is_const_v<T>) {
      const auto& about = call.loop.arguments[argument];
      if (!is_read(about, {0, 0, 0})) at[i] = poison<Value>();
      kept.clear();
      if (about.access == Access::write) return;
      for (const auto& offset : about.stencil.offsets()) kept.push_back(element(i, offset));
    }
  }
  void after(std::ptrdiff_t i) {
    if constexpr (!std::is_const_v<T>) {
      if (same_bits(at[i], poison<Value>()))
        violation(call, argument, here(i), "it is not written, or made of what was there and is not to be read");
      const auto& offsets = call.loop.arguments[argument].stencil.offsets();
      for (std::size_t k = 0; k < kept.size(); ++k)
        if (offsets[k] != Point{0, 0, 0} && !same_bits(kept[k], element(i, offsets[k])))
          violation(call, argument, here(i), offsets[k], " was written");
    }
  }

  [[nodiscard]] Point here(std::ptrdiff_t i) const { return {point[0] + i, point[1], point[2]}; }
  [[nodiscard]] T& element(std::ptrdiff_t i, const Point& offset) const {
    return at[i + offset[0] + offset[1] * row + offset[2] * plane];
  }

  const Call& call;
  std::size_t argument;
  Point point;
  T* at;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
  std::vector<Value> kept;
};

}  // namespace terrace::stencil::detail

#endif
