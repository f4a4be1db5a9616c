// Jacobi's iterations as a third-party program, in memory and with data in a file. Exits 1 if a promise of
// terrace/stencil.hpp is broken.
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <terrace/stencil.hpp>
#include <utility>
#include <vector>

using namespace terrace::stencil;

static int broken = 0;

static void expect(bool holds, const char* promise) {
  if (holds) return;
  std::printf("broken: %s\n", promise);
  broken = 1;
}

// A product of sines is an eigenvector: each sweep multiplies it by the same factor. Returns all points and sums.
static std::vector<double> iterate(const Options& options) {
  constexpr std::ptrdiff_t n = 300;
  constexpr int sweeps = 30;
  Context context(options);
  const auto grid = context.block("grid", {n, n});
  auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
  auto next = grid.dataset<double>("next", {{-1, -1}, {1, 1}});
  const double step = std::acos(-1.0) / (n + 1);
  Line<double, 0> x(0, n);
  Line<double, 1> y(0, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) x[i] = y[i] = std::sin(step * static_cast<double>(i + 1));
  grid.loop(
      "start", grid.range(), [](auto at, auto along_x, auto along_y) { at() = along_x() * along_y(); }, write(u),
      read(x), read(y));
  for (int i = 0; i < sweeps; ++i) {
    grid.loop(
        "sweep", grid.range(),
        [](auto to, auto from) { to() = 0.25 * (from(-1, 0) + from(1, 0) + from(0, -1) + from(0, 1)); },
        write(next), read(u, star(2, 1)));
    std::swap(u, next);
  }
  auto sum = context.sum<double>();
  auto lever = context.sum<double>();  // 0 but for rounding, which depends on the order
  Line<double, 0> arms(0, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) arms[i] = static_cast<double>(2 * i - n + 1);
  auto most = context.maximum<double>();
  auto least = context.minimum<double>();
  grid.loop(
      "sum", grid.range(), [](auto at, auto all) { all += at(); }, read(u), into(sum));
  grid.loop(
      "lever", grid.range(), [](auto at, auto arm, auto all) { all += at() * arm(); }, read(u), read(arms),
      into(lever));
  grid.loop(
      "bounds", grid.range(),
      [](auto at, auto largest, auto smallest) {
        largest(at());
        smallest(at());
      },
      read(u), into(most), into(least));
  expect(!context.waiting().empty(), "loops wait");
  double ones = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) ones += x[i];
  const double factor = std::pow(std::cos(step), sweeps);
  const double total = sum.value();
  expect(std::abs(total / (ones * ones * factor) - 1) < 1e-12, "the sum is the eigenvector's");
  expect(context.waiting().empty() && context.statistics().loops == sweeps + 4,
         "a result that is asked for runs them");
  expect(most.value() > least.value() && least.value() > 0, "the least and the most of all points");
  auto numbers = u.get(grid.range());
  numbers.push_back(total);
  numbers.push_back(lever.value());
  return numbers;
}

static void refuse() {
  Context context;
  const auto grid = context.block("grid", {10, 10});
  const auto u = grid.dataset<double>("u");
  std::string text;
  try {
    grid.loop(
        "beyond", grid.range(), [](auto at) { static_cast<void>(at(1, 0)); }, read(u, Stencil{{1, 0}}));
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  expect(text.find("loop 'beyond', dataset 'u'") != std::string::npos, "an error names loop and dataset");
#ifdef TERRACE_STENCIL_CHECKS
  text.clear();
  grid.loop(
      "undeclared", Range{{0, 9}, {0, 10}}, [](auto at, auto to) { to() = at(1, 0); }, read(u),
      write(grid.dataset<double>("v")));
  try {
    context.run();
  } catch (const std::logic_error& error) {
    text = error.what();
  }
  expect(text.find("the offset (1, 0, 0) is not in its stencil") != std::string::npos, "offsets are checked");
#endif
}

int main() {
  try {
    Options options;
    options.executor = "serial";
    const auto wanted = iterate(options);
    for (const char* const executor : {"parallel", "tiled", "streamed"}) {
      options.executor = executor;
      options.threads = 2;
      options.tile = {37, 5, 0};
      options.memory = 512 * 1024;
      expect(iterate(options) == wanted, executor);
    }
    refuse();
  } catch (const std::exception& error) {
    std::printf("broken: %s\n", error.what());
    return 1;
  }
  return broken;
}
