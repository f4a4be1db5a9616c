// SPDX-License-Identifier: Apache-2.0
// Implements the debug mode of stencil programs: with TERRACE_STENCIL_CHECKS defined, each access of a kernel is
// checked against the declarations of its loop. The row loops of kernel.hpp call it. It detects:
// - an offset outside the stencil, or at which nothing may be read;
// - reading the own point of a dataset without declaring it, or not writing one declared as written;
// - a change at a point other than the kernel's own;
// - an index outside a line;
// - a kernel that is not deterministic.
// The first violation ends the chain with std::logic_error, which names loop, point, dataset and offset.
//
// To detect reads of a write-only dataset, the kernel is called twice at each point, with different values
// there: its results must not differ.
#pragma once

#ifdef TERRACE_STENCIL_CHECKS

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "terrace/stencil/chain.hpp"

// An inline namespace of its own, so that files of one program with and without checks do not violate the
// one-definition rule.
namespace terrace::stencil::detail {
inline namespace checked {

[[nodiscard]] inline std::string text_of(const Point& point) {
  return "(" + std::to_string(point[0]) + ", " + std::to_string(point[1]) + ", " + std::to_string(point[2]) + ")";
}

[[noreturn]] inline void violation(const Call& call, const Point& at, const std::string& what) {
  throw std::logic_error("loop '" + call.loop.name + "', point " + text_of(at) + ", " + what);
}

[[noreturn]] inline void violation(const Call& call, std::size_t argument, const Point& at,
                                   const std::string& what) {
  violation(call, at, "dataset '" + std::string(call.loop.arguments[argument].name) + "': " + what);
}

// Compares bitwise; structures, which may have padding, by operator==; structures without one count as equal.
template <class T>
[[nodiscard]] bool is_same(const T& a, const T& b) {
  using Bytes = std::array<std::byte, sizeof(T)>;
  if constexpr (std::is_floating_point_v<T> || std::has_unique_object_representations_v<T>)
    return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
  else if constexpr (std::equality_comparable<T>)
    return a == b;
  else
    return true;
}

// Values of a write-only dataset before the kernel is called. The first two are so large that sums do not
// absorb them, and differ in sign and size, so that results differ, too. The third changes sums with small
// values.
enum class Filler : std::uint8_t { first, second, small };

template <class T>
[[nodiscard]] T number_of_filler(Filler filler) {
  T value{};
  if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(filler == Filler::first ? 3.0625e33 : filler == Filler::second ? -7.03125e30 : 3.0625);
  } else {
    std::array<unsigned char, sizeof(T)> bytes{};
    bytes.fill(filler == Filler::first ? 0x5b : filler == Filler::second ? 0xa4 : 0x11);
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  return value;
}

// The arguments that get the filler; the others get the first.
inline constexpr std::size_t k_all_arguments = static_cast<std::size_t>(-1);

template <class T>
class CheckedAccessor {
 public:
  CheckedAccessor(const Call& call, std::size_t argument, const Point& point, T* at, std::ptrdiff_t row,
                  std::ptrdiff_t plane)
      : call_(call), argument_(argument), point_(point), at_(at), row_(row), plane_(plane) {}
  T& operator()(std::ptrdiff_t x = 0, std::ptrdiff_t y = 0, std::ptrdiff_t z = 0) const {
    const auto& argument = call_.loop.arguments[argument_];
    const Point offset{x, y, z};
    const auto& known = argument.stencil.offsets();
    const auto is_own = writes(argument.access) && offset == Point{0, 0, 0};
    if (!is_own && !reads(argument.access))
      violation(call_, argument_, point_,
                "the offset " + text_of(offset) + " is used, and it is written at the point alone");
    if (!is_own && std::ranges::find(known, offset) == known.end())
      violation(call_, argument_, point_, "the offset " + text_of(offset) + " is not in its stencil");
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

template <class T>
class CheckedCursor {
 public:
  using Value = std::remove_const_t<T>;

  CheckedCursor(const Call& call, std::size_t argument, const Point& point, T* at, const View& view)
      : call_(call), argument_(argument), point_(point), at_(at), row_(view.row), plane_(view.plane) {}

  [[nodiscard]] CheckedAccessor<T> get(std::ptrdiff_t i) const {
    return {call_, argument_, here(i), at_ + i, row_, plane_};
  }
  void finish() const {}

  [[nodiscard]] std::size_t argument() const { return argument_; }
  // Returns whether the own point is never read.
  [[nodiscard]] bool is_written_only() const {
    return about().access == Access::write || std::ranges::find(others(), Point{0, 0, 0}) == others().end();
  }
  [[nodiscard]] Point here(std::ptrdiff_t i) const { return {point_[0] + i, point_[1], point_[2]}; }

  // Saves the current value, before the first call.
  void save_value(std::ptrdiff_t i) {
    if constexpr (!std::is_const_v<T>) {
      own_ = at_[i];
      was_written_ = false;
      kept_.clear();
      for (const auto& offset : others()) kept_.push_back(element(i, offset));
    }
  }
  // Sets the value for the next call.
  void prepare(std::ptrdiff_t i, Filler filler, std::size_t of) {
    if constexpr (!std::is_const_v<T>) {
      const auto has_it = of == k_all_arguments || of == argument_;
      at_[i] = is_written_only() ? number_of_filler<Value>(has_it ? filler : Filler::first) : own_;
    }
  }
  // Checks that the other points are unchanged, after each call.
  void check_others_unchanged(std::ptrdiff_t i) const {
    if constexpr (!std::is_const_v<T>)
      for (std::size_t k = 0; k < kept_.size(); ++k)
        if (others()[k] != Point{0, 0, 0} && !is_same(kept_[k], element(i, others()[k])))
          violation(call_, argument_, here(i), "it is written at the offset " + text_of(others()[k]));
  }
  // Saves the result, after the first call.
  void save_result(std::ptrdiff_t i) {
    if constexpr (!std::is_const_v<T>) result_ = at_[i];
  }
  [[nodiscard]] bool differs(std::ptrdiff_t i) const {
    if constexpr (!std::is_const_v<T>) return !is_same(result_, at_[i]);
    return false;
  }
  // Notes whether the filler was overwritten, after each call in which all arguments have it.
  void track_writes(std::ptrdiff_t i, Filler filler) {
    if constexpr (!std::is_const_v<T>)
      was_written_ = was_written_ || !is_same(at_[i], number_of_filler<Value>(filler));
  }
  void check_written(std::ptrdiff_t i) const {
    if constexpr (!std::is_const_v<T>)
      if (is_written_only() && !was_written_) violation(call_, argument_, here(i), "it is not written");
  }

 private:
  [[nodiscard]] const Argument& about() const { return call_.loop.arguments[argument_]; }
  [[nodiscard]] const std::vector<Point>& others() const { return about().stencil.offsets(); }
  [[nodiscard]] T& element(std::ptrdiff_t i, const Point& offset) const {
    return at_[i + offset[0] + offset[1] * row_ + offset[2] * plane_];
  }

  const Call& call_;
  std::size_t argument_;
  Point point_;
  T* at_;
  std::ptrdiff_t row_;
  std::ptrdiff_t plane_;
  Value own_{};
  Value result_{};
  bool was_written_ = false;
  std::vector<Value> kept_;
};

template <class T, std::size_t Axis>
class CheckedLineAccessor {
 public:
  CheckedLineAccessor(const Call& call, const Point& point, const std::vector<T>& numbers, std::ptrdiff_t begin)
      : call_(call), point_(point), numbers_(numbers), begin_(begin) {}
  const T& operator()(std::ptrdiff_t along = 0) const {
    const auto index = point_[Axis] + along;
    const auto end = begin_ + static_cast<std::ptrdiff_t>(numbers_.size());
    if (index < begin_ || index >= end)
      violation(call_, point_,
                std::string("a line along ") + "xyz"[Axis] + ": the offset (" + std::to_string(along) +
                    ") leads to " + std::to_string(index) + ", it has " + std::to_string(begin_) + ".." +
                    std::to_string(end));
    return numbers_[static_cast<std::size_t>(index - begin_)];
  }

 private:
  const Call& call_;
  Point point_;
  const std::vector<T>& numbers_;
  std::ptrdiff_t begin_;
};

template <class T, std::size_t Axis>
class CheckedLineCursor {
 public:
  CheckedLineCursor(const Call& call, const Point& point, const std::vector<T>& numbers, std::ptrdiff_t begin)
      : call_(call), point_(point), numbers_(numbers), begin_(begin) {}
  [[nodiscard]] CheckedLineAccessor<T, Axis> get(std::ptrdiff_t i) const {
    return {call_, {point_[0] + i, point_[1], point_[2]}, numbers_, begin_};
  }
  void finish() const {}

 private:
  const Call& call_;
  Point point_;
  const std::vector<T>& numbers_;
  std::ptrdiff_t begin_;
};

template <class T, template <class> class Into>
class CheckedReductionCursor {
 public:
  CheckedReductionCursor(T* kept, T value) : kept_(kept), value_(value) {}
  [[nodiscard]] Into<T> get(std::ptrdiff_t /*i*/) { return Into<T>(value_); }
  void finish() const { *kept_ = value_; }

  void save_value(std::ptrdiff_t /*i*/) { own_ = value_; }
  void prepare(std::ptrdiff_t /*i*/, Filler /*filler*/, std::size_t /*of*/) { value_ = own_; }
  void check_others_unchanged(std::ptrdiff_t /*i*/) const {}
  void save_result(std::ptrdiff_t /*i*/) { result_ = value_; }
  [[nodiscard]] bool differs(std::ptrdiff_t /*i*/) const { return !is_same(result_, value_); }
  void track_writes(std::ptrdiff_t /*i*/, Filler /*filler*/) const {}
  void check_written(std::ptrdiff_t /*i*/) const {}

 private:
  T* kept_;
  T value_;
  T own_{};
  T result_{};
};

// Cursors of what a kernel changes: not lines and indexes.
template <class Cursor>
concept Changing = requires(Cursor cursor) {
  cursor.save_value(0);
};

template <class Cursor, class Action>
void if_changing(Cursor& cursor, Action action) {
  if constexpr (Changing<Cursor>) action(cursor);
}

// Not inlined: copies of the same arithmetic may be rounded differently.
template <class Kernel, class... Cursors>
[[gnu::noinline]] void call_kernel(const Kernel& kernel, std::ptrdiff_t i, Cursors&... cursors) {
  kernel(cursors.get(i)...);
}

// Calls the kernel at one point, several times with different values in write-only datasets, and compares the
// results.
template <class Kernel, class... Cursors>
void check_point(const Kernel& kernel, const Call& call, const Point& point, std::ptrdiff_t i,
                 Cursors&... cursors) {
  const auto for_all = [&](auto action) { (if_changing(cursors, action), ...); };
  const auto run = [&](Filler filler, std::size_t of) {
    for_all([&](auto& cursor) { cursor.prepare(i, filler, of); });
    call_kernel(kernel, i, cursors...);
    for_all([&](auto& cursor) {
      cursor.check_others_unchanged(i);
      cursor.track_writes(i, filler);
    });
  };
  const auto differs = [&] {
    auto found = false;
    for_all([&](auto& cursor) { found = found || cursor.differs(i); });
    return found;
  };
  for_all([&](auto& cursor) { cursor.save_value(i); });
  run(Filler::first, k_all_arguments);
  for_all([&](auto& cursor) { cursor.save_result(i); });
  run(Filler::second, k_all_arguments);
  if (!differs()) return;
  run(Filler::small, k_all_arguments);
  for_all([&](auto& cursor) { cursor.check_written(i); });
  run(Filler::first, k_all_arguments);
  if (differs()) violation(call, point, "the kernel gives other numbers when it is called again");
  for_all([&](auto& cursor) {
    if constexpr (requires { cursor.is_written_only(); }) {
      if (!cursor.is_written_only()) return;
      run(Filler::second, cursor.argument());
      if (differs())
        violation(call, cursor.argument(), point,
                  "it is read at the offset (0, 0, 0), and declared as written only");
    }
  });
  violation(call, point, "the results depend on what was in datasets that are written only");
}

}  // namespace checked
}  // namespace terrace::stencil::detail

#endif
