// Compares the checksums of NPB FT with the official ones, and counts its operations.
#include "ft/problems.hpp"

#include <cmath>
#include <cstdio>

namespace ft {

double Compared::error() const { return std::abs(value / reference - 1.0); }

Compared compare(const Problem& problem, const std::vector<Complex>& checksums) {
  Compared worst{1.0, 1.0};
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const Complex sum = checksums[i];
    std::printf(" Checksum %-6zu = %24.15E %24.15E\n", i + 1, sum.re, sum.im);
    if (i >= problem.checksums.size()) continue;
    const Complex right = problem.checksums[i];
    for (const Compared part : {Compared{sum.re, right.re}, Compared{sum.im, right.im}}) {
      if (!std::isnan(worst.value) && !(part.error() <= worst.error())) worst = part;
    }
  }
  return worst;
}

double operations(const Shape& shape, std::uint64_t iterations) {
  const double points = static_cast<double>(shape.points());
  const double logarithm = std::log(points);
  return points *
         (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * static_cast<double>(iterations));
}

std::string size_of(const Shape& shape) {
  return std::to_string(shape.n[0]) + "x" + std::to_string(shape.n[1]) + "x" + std::to_string(shape.n[2]);
}

}  // namespace ft
