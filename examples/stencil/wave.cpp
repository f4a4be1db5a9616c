// The wave equation in two dimensions, with fixed edges: u_tt = c^2 (u_xx + u_yy), by central differences.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <terrace/stencil.hpp>
#include <utility>

namespace ts = terrace::stencil;

int run(std::ptrdiff_t n, int steps) {
  ts::Context context;  // executor, memory and folder: as TERRACE_STENCIL says
  const auto pool = context.block("pool", {n, n});
  auto now = pool.dataset<double>("now", {{-1, -1}, {1, 1}});  // with a layer of halo on each side, zero
  auto before = pool.dataset<double>("before", {{-1, -1}, {1, 1}});
  const double pi = std::acos(-1.0), spacing = 1.0 / static_cast<double>(n + 1), courant = 0.5;
  pool.loop(
      "start", pool.range(),
      [=](auto u, auto v, auto i) {
        const double x = static_cast<double>(i[0] + 1) * spacing, y = static_cast<double>(i[1] + 1) * spacing;
        u() = v() = std::sin(pi * x) * std::sin(pi * y);
      },
      ts::write(now), ts::write(before), ts::index());
  for (int step = 0; step < steps; ++step) {
    pool.loop(
        "step", pool.range(),
        [=](auto v, auto u) {
          const double curvature = u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * u();
          v() = 2 * u() - v() + courant * courant * curvature;
        },
        ts::read_write(before), ts::read(now, ts::star(2, 1)));
    std::swap(now, before);
  }
  auto largest = context.maximum<double>();
  pool.loop(
      "largest", pool.range(), [](auto u, auto all) { all(u()); }, ts::read(now), ts::into(largest));
  std::printf("largest elevation after %d steps: %.6f\n", steps, largest.value());  // runs all loops, in tiles
  return 0;
}

int main(int count, char** words) {
  try {
    return run(count > 1 ? std::atol(words[1]) : 400, count > 2 ? std::atoi(words[2]) : 100);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wave: %s\n", error.what());
    return 1;
  }
}
