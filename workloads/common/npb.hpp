// Declares what the NAS Parallel Benchmarks here share: problem classes, random numbers, the result block.
// Source: Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007 (1994), section 2.3 for the generator;
// verification values and classes as published with NPB 3.x.
#pragma once

#include <cstdint>
#include <string>

#include "common/options.hpp"

namespace workloads {

/// x(k+1) = 5^13 x(k) mod 2^46, each returned as a fraction of 2^46, in (0, 1).
class NpbRandom {
 public:
  double next() {
    // The product may wrap at 2^64; its low 46 bits are right all the same.
    state_ = (state_ * k_multiplier) & k_mask;
    return static_cast<double>(state_) * 0x1p-46;
  }

  /// Skips `count` numbers: the state is multiplied by the multiplier's power, by repeated squaring.
  void skip(std::uint64_t count) {
    for (std::uint64_t power = k_multiplier; count != 0; count /= 2, power *= power) {
      if (count % 2 == 1) state_ *= power;
    }
    state_ &= k_mask;
  }

 private:
  static constexpr std::uint64_t k_multiplier = 1220703125;
  static constexpr std::uint64_t k_mask = (std::uint64_t{1} << 46) - 1;
  std::uint64_t state_ = 314159265;
};

/// Arguments of an NPB program.
struct NpbArguments {
  char problem_class = 'S';
  std::uint64_t iterations = 0;
};

/// Parses --class, --iterations and --threads; exits 2 on a wrong call. `official_iterations` gives a class's own
/// number of iterations: the default, and the least after which there is something to verify. Without `prints`,
/// nothing is printed: of several ranks, one prints.
NpbArguments parse_npb_arguments(int argc, char** argv, const std::string& program, const std::string& summary,
                                 std::uint64_t (*official_iterations)(char problem_class), bool prints = true);

/// The outcome of an NPB program. A value counts as verified when it lies within `tolerance`, relative, of
/// `reference`, taken after the class's own number of iterations.
struct NpbResult {
  std::string name;
  char problem_class = 'S';
  std::string size;
  std::uint64_t iterations = 0;
  std::uint64_t official_iterations = 0;
  double seconds = 0;
  double operations = 0;  // floating-point operations of the timed section
  std::string quantity;   // what is verified
  double value = 0;
  double reference = 0;
  double tolerance = 0;

  bool verified() const;
};

/// Prints the result block. Returns the program's exit status: 1 where verification fails, else 0. Fewer
/// iterations than the class's own number are not verified.
int report(const NpbResult& result);

}  // namespace workloads
