// A program with every kind of argument in three dimensions. It is compiled with and without checks, so
// everything is local to the file.
#pragma once

#include <cstdint>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

template <class T>
void append(std::vector<double>& all, const Dataset<T>& dataset) {
  for (const auto number : dataset.get(dataset.range())) all.push_back(static_cast<double>(number));
}

// Returns all values at the end of the program.
std::vector<double> numbers_of_all_kinds(const Options& options) {
  Context context(options);
  const auto block = context.block("block", {9, 7, 5});
  const auto range = block.range();
  const Halo halo{{-1, -1, -1}, {1, 1, 1}};
  auto a = block.dataset<double>("a", halo);
  auto b = block.dataset<double>("b", halo);
  auto f = block.dataset<float>("f");
  auto n = block.dataset<std::int64_t>("n");
  auto m = block.dataset<std::int32_t>("m");
  Line<double, 0> along_x(-1, 10);
  Line<double, 1> along_y(0, 7);
  Line<float, 2> along_z(0, 6);
  for (std::ptrdiff_t i = -1; i < 10; ++i) along_x[i] = 0.25 * static_cast<double>(i);
  for (std::ptrdiff_t i = 0; i < 7; ++i) along_y[i] = 1.0 / static_cast<double>(i + 1);
  for (std::ptrdiff_t i = 0; i < 6; ++i) along_z[i] = static_cast<float>(i);
  auto total = context.sum<double>();
  auto count = context.sum<std::int64_t>();
  auto least = context.minimum<float>();
  auto most = context.maximum<std::int32_t>();
  block.loop(
      "start", range,
      [](auto a, auto f, auto x, auto y, auto z, auto at) {
        a() = x(-1) + x() * y() + x(1);
        f() = z() + z(1) * static_cast<float>(at[0] - at[1] + 2 * at[2]);
      },
      write(a), write(f), read(along_x), read(along_y), read(along_z), index());
  for (int step = 0; step < 4; ++step) {
    for (const std::ptrdiff_t side : {-1, 9}) {
      const std::ptrdiff_t from = side < 0 ? 9 : -9;
      block.loop(
          "periodic", {{side, side + 1}, {0, 7}, {0, 5}}, [from](auto a) { a() = a(from); },
          read_write(a, Stencil{{from}}));
    }
    block.loop(
        "sweep", range,
        [](auto b, auto a, auto f, auto n, auto m) {
          b() = 0.125 * (a(-1) + a(1) + a(0, -1) + a(0, 1) + a(0, 0, -1) + a(0, 0, 1)) + 0.25 * f();
          n() += static_cast<std::int64_t>(3 * b());
          m() = m() / 2 + static_cast<std::int32_t>(b() > 0);
        },
        write(b), read(a, star(3, 1)), read(f), increment(n), read_write(m));
    block.loop(
        "reduce", range,
        [](auto b, auto f, auto n, auto m, auto total, auto count, auto least, auto most) {
          total += b();
          count += n();
          least(f() - static_cast<float>(b()));
          most(m());
        },
        read(b), read(f), read(n), read(m), into(total), into(count), into(least), into(most));
    std::swap(a, b);
  }
  std::vector<double> all{total.value(), static_cast<double>(count.value()), static_cast<double>(least.value()),
                          static_cast<double>(most.value())};
  append(all, a);
  append(all, b);
  append(all, f);
  append(all, n);
  append(all, m);
  return all;
}

}  // namespace
}  // namespace terrace::stencil::test
