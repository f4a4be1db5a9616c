// Generates random chains of loops and evaluates them on plain arrays, loop by loop and point by point.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {

struct RandomArgument {
  std::size_t dataset;
  Access access;
  Stencil stencil;
  std::vector<double> factors;  // by offset
};

struct RandomLoop {
  Range range;
  std::vector<RandomArgument> arguments;
  double constant;
  bool is_reduced;
};

struct RandomProgram {
  std::vector<std::ptrdiff_t> size;
  std::vector<Halo> halos;  // by dataset
  std::vector<RandomLoop> loops;
};

// Returns the range of a dataset.
[[nodiscard]] inline Range range_of(const RandomProgram& program, std::size_t dataset) {
  Range range;
  for (std::size_t d = 0; d < program.size.size(); ++d) {
    range.begin[d] = program.halos[dataset].low[d];
    range.end[d] = program.size[d] + program.halos[dataset].high[d];
  }
  return range;
}

// The part of a loop that planners see. Datasets have the program's ids.
[[nodiscard]] inline Loop planned_loop(const RandomLoop& from) {
  Loop loop{"loop", 0, from.range, {}, {}, {}};
  for (const auto& argument : from.arguments)
    loop.arguments.push_back({static_cast<DatasetId>(argument.dataset), "dataset", argument.access,
                              argument.stencil, argument.stencil.low(), argument.stencil.high(), sizeof(double)});
  return loop;
}

[[nodiscard]] inline Chain chain_of(const RandomProgram& program) {
  Chain chain;
  for (const auto& loop : program.loops) chain.push_back(planned_loop(loop));
  return chain;
}

[[nodiscard]] inline Point moved(const Point& point, const Point& offset) {
  return {point[0] + offset[0], point[1] + offset[1], point[2] + offset[2]};
}

// Returns the number of chains to test.
[[nodiscard]] inline int random_chains() {
  const auto* const wanted = std::getenv("TERRACE_RANDOM_CHAINS");
  return wanted ? std::atoi(wanted) : 600;
}

class RandomMaker {
 public:
  // Blocks are `larger` times as long in each dimension.
  explicit RandomMaker(std::uint64_t seed, std::ptrdiff_t larger = 1) : random_(seed), larger_(larger) {}

  RandomProgram make() {
    return make([](const RandomProgram&) { return true; });
  }

  // Returns a `large` enough program: doubles the blocks' outermost dimension until it is. If loops use only
  // one layer this has no effect, and another program is generated.
  template <class Large>
  RandomProgram make(Large large) {
    constexpr std::ptrdiff_t k_longest = 512;
    for (;;) {
      const auto before = random_;
      for (std::ptrdiff_t longer = 1; longer <= k_longest; longer *= 2) {
        random_ = before;
        auto program = program_of(longer);
        if (large(program)) return program;
      }
    }
  }

  std::ptrdiff_t number(std::ptrdiff_t low, std::ptrdiff_t high) {
    return std::uniform_int_distribution<std::ptrdiff_t>(low, high)(random_);
  }
  double factor() { return std::uniform_real_distribution(-1.0, 1.0)(random_); }

 private:
  RandomProgram program_of(std::ptrdiff_t longer) {
    RandomProgram program;
    const auto dims = static_cast<std::size_t>(number(1, 3));
    const std::ptrdiff_t most = dims == 1 ? 60 : dims == 2 ? 24 : 11;
    for (std::size_t d = 0; d < dims; ++d) program.size.push_back(number(1, most * larger_));
    program.size.back() *= longer;
    const auto datasets = number(1, 6);
    for (std::ptrdiff_t i = 0; i < datasets; ++i) {
      Halo halo;
      for (std::size_t d = 0; d < dims; ++d) {
        halo.low[d] = -number(0, 3);
        halo.high[d] = number(0, 3);
      }
      program.halos.push_back(halo);
    }
    const auto loops = number(1, 14);
    for (std::ptrdiff_t i = 0; i < loops; ++i) program.loops.push_back(loop(program, dims));
    return program;
  }

  RandomLoop loop(const RandomProgram& program, std::size_t dims) {
    RandomLoop made{{}, {}, factor(), number(0, 3) == 0};
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < program.halos.size(); ++i)
      if (number(0, 1) == 1) chosen.push_back(i);
    if (chosen.empty())
      chosen.push_back(static_cast<std::size_t>(number(0, std::ptrdiff_t(program.halos.size()) - 1)));
    auto common = range_of(program, chosen.front());
    for (const auto dataset : chosen) common = intersection(common, range_of(program, dataset));
    made.range = common;
    for (std::size_t d = 0; d < dims; ++d) {
      // Returns the whole range, a part, or one layer, as at a boundary.
      const auto kind = number(0, 3);
      if (kind == 0) continue;
      made.range.begin[d] = number(common.begin[d], common.end[d] - 1);
      made.range.end[d] = kind == 1 ? made.range.begin[d] + 1 : number(made.range.begin[d] + 1, common.end[d]);
    }
    for (const auto dataset : chosen) {
      RandomArgument argument{dataset, static_cast<Access>(number(0, 3)), Stencil{}, {}};
      std::vector<Point> offsets;
      const auto wanted = number(1, 4);
      for (std::ptrdiff_t k = 0; k < wanted; ++k) {
        Point offset{0, 0, 0};
        if (argument.access == Access::read) {
          for (std::size_t d = 0; d < dims; ++d) offset[d] = number(-3, 3);
        } else if (argument.access == Access::read_write && k > 0) {
          const auto d = static_cast<std::size_t>(number(0, std::ptrdiff_t(dims) - 1));
          offset[d] = (number(0, 1) ? 1 : -1) * made.range.length(d);
        }
        if (fits(program, dataset, made.range, offset)) offsets.push_back(offset);
      }
      if (offsets.empty()) offsets.push_back({0, 0, 0});
      if (argument.access != Access::read_write && argument.access != Access::read) offsets = {{0, 0, 0}};
      for (std::size_t k = 0; k < offsets.size(); ++k) argument.factors.push_back(factor());
      argument.stencil = Stencil(std::move(offsets));
      made.arguments.push_back(std::move(argument));
    }
    return made;
  }

  static bool fits(const RandomProgram& program, std::size_t dataset, Range range, const Point& offset) {
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      range.begin[d] += offset[d];
      range.end[d] += offset[d];
    }
    return range_of(program, dataset).contains(range);
  }

  std::mt19937_64 random_;
  std::ptrdiff_t larger_;
};

// Evaluates a loop at a point: `element(argument, offset)` is a reference. Returns the reductions'
// contributions.
template <class Element>
double do_point(const RandomLoop& loop, const Point& point, Element element) {
  double value = loop.constant + 0.01 * static_cast<double>(point[0] + 3 * point[1] + 7 * point[2]);
  for (std::size_t i = 0; i < loop.arguments.size(); ++i) {
    const auto& argument = loop.arguments[i];
    if (argument.access != Access::read && argument.access != Access::read_write) continue;
    for (std::size_t k = 0; k < argument.factors.size(); ++k)
      value += argument.factors[k] * element(i, argument.stencil.offsets()[k]);
  }
  value = value / (1 + std::abs(value));  // keeps the magnitude of values
  for (std::size_t i = 0; i < loop.arguments.size(); ++i) {
    auto& own = loop.arguments[i].access == Access::read ? value : element(i, Point{0, 0, 0});
    if (loop.arguments[i].access == Access::increment)
      own += 0.5 * value;
    else if (loop.arguments[i].access != Access::read)
      own = value * static_cast<double>(i + 1);
  }
  return value;
}

// Evaluates programs on plain arrays.
class PlainData {
 public:
  explicit PlainData(const RandomProgram& program) : all_(program.halos.size()) {}
  double& at(std::size_t dataset, const Point& point) { return all_[dataset][point]; }
  void do_loop(const RandomLoop& loop) {
    double sum = 0;
    for (auto z = loop.range.begin[2]; z < loop.range.end[2]; ++z)
      for (auto y = loop.range.begin[1]; y < loop.range.end[1]; ++y)
        for (auto x = loop.range.begin[0]; x < loop.range.end[0]; ++x) {
          const Point point{x, y, z};
          const auto value = do_point(loop, point, [&](std::size_t argument, const Point& offset) -> double& {
            return at(loop.arguments[argument].dataset, {x + offset[0], y + offset[1], z + offset[2]});
          });
          sum += value;
          least = std::min(least, loop.is_reduced ? value : least);
          most = std::max(most, loop.is_reduced ? value : most);
        }
    if (loop.is_reduced) total += sum;
  }
  double total = 0;
  double least = INFINITY;
  double most = -INFINITY;

 private:
  std::vector<std::map<Point, double>> all_;
};

}  // namespace terrace::stencil::test
