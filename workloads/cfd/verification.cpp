// Compares the norms of BT, SP and LU with the published ones, at the end of a run.
#include "cfd/verification.hpp"

#include <cstdio>
#include <vector>

namespace cfd {
namespace {

struct Comparison {
  std::string quantity;
  double value;
  double reference;

  double error() const { return std::abs(value / reference - 1.0); }
};

std::vector<Comparison> compare(const Norms& found, const Norms& expected) {
  std::vector<Comparison> result;
  result.reserve(2 * k_unknowns + 1);
  for (int m = 0; m < k_unknowns; ++m) {
    result.push_back({"Residual " + std::to_string(m + 1), found.residual[m], expected.residual[m]});
  }
  for (int m = 0; m < k_unknowns; ++m) {
    result.push_back({"Error " + std::to_string(m + 1), found.error[m], expected.error[m]});
  }
  if (expected.surface != 0.0) result.push_back({"Surface", found.surface, expected.surface});
  return result;
}

/// The comparison that is farthest off; one that is not a number is farther than any other.
const Comparison& worst_of(const std::vector<Comparison>& comparisons) {
  return *std::max_element(comparisons.begin(), comparisons.end(), [](const Comparison& a, const Comparison& b) {
    return !std::isnan(a.error()) && !(b.error() <= a.error());
  });
}

}  // namespace

int report(const std::string& name, const Problem& problem, std::uint64_t iterations, double seconds,
           const Operations& operations, const Norms& found, const workloads::Processes& processes) {
  return processes.report_once([&] {
    const std::vector<Comparison> comparisons = compare(found, problem.norms);
    for (const Comparison& each : comparisons) {
      std::printf(" %-15s = %24.15E (%.15E)\n", each.quantity.c_str(), each.value, each.reference);
    }
    const Comparison& worst = worst_of(comparisons);
    const std::string side = std::to_string(problem.side);
    return workloads::report({.name = name,
                              .problem_class = problem.name,
                              .size = side + "x" + side + "x" + side,
                              .iterations = iterations,
                              .official_iterations = problem.iterations,
                              .seconds = seconds,
                              .operations = operations.of(problem.side) * static_cast<double>(iterations),
                              .quantity = worst.quantity,
                              .value = worst.value,
                              .reference = worst.reference,
                              .tolerance = 1e-8});
  });
}

}  // namespace cfd
