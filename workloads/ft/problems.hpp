// Lists the classes (problem sizes) of NPB FT, and verifies checksums by the official ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "ft/checksums.hpp"
#include "ft/fft.hpp"

namespace ft {

struct Problem {
  char name;
  Shape shape;
  std::span<const Complex> checksums;  // one for each official iteration
};

constexpr Problem k_problems[] = {{'S', {{64, 64, 64}}, k_checksums_s},
                                  {'W', {{128, 128, 32}}, k_checksums_w},
                                  {'A', {{256, 256, 128}}, k_checksums_a},
                                  {'B', {{512, 256, 256}}, k_checksums_b},
                                  {'C', {{512, 512, 512}}, k_checksums_c}};

inline const Problem& problem_of(char problem_class) {
  return *std::find_if(std::begin(k_problems), std::end(k_problems),
                       [&](const Problem& problem) { return problem.name == problem_class; });
}

inline std::uint64_t iterations_of(char problem_class) { return problem_of(problem_class).checksums.size(); }

/// A part of a checksum, and the official value.
struct Compared {
  double value;
  double reference;

  double error() const;
};

/// Prints the checksums; returns the part that is furthest from its official value. What is not a number is
/// furthest.
Compared compare(const Problem& problem, const std::vector<Complex>& checksums);

/// Returns the number of floating-point operations as the benchmark counts them.
double operations(const Shape& shape, std::uint64_t iterations);

std::string size_of(const Shape& shape);

}  // namespace ft
