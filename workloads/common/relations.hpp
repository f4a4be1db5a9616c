// Generates the relations of hashjoin and mergejoin, so that the result is known: tuple i of the smaller one is
// about item i of n; the larger one names items below 2n, each equally often. Both are in random order. So every
// second tuple of the larger one finds no match.
#pragma once

#include <cstdint>
#include <vector>

#include "common/options.hpp"

namespace workloads {

struct Tuple {
  std::uint64_t key;
  std::uint64_t payload;
};
using Relation = std::vector<Tuple>;

/// Compares keys only: the order of tuples with equal keys does not affect a join.
inline bool operator<(const Tuple& a, const Tuple& b) { return a.key < b.key; }

/// Parameters of a join.
struct JoinSettings {
  std::uint64_t tuples = 1 << 19;
  std::uint64_t ratio = 4;
  std::uint64_t iterations = 3;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

/// Parses the command line of a join, with --threads; exits 2 on a wrong call.
JoinSettings parse_join_settings(int argc, char** argv, const char* program, const char* summary);

Relation make_build_side(const JoinSettings& settings);
Relation make_probe_side(const JoinSettings& settings);

/// Result of a join: the number of pairs, and the sum of their payloads' products, modulo 2^64.
struct JoinResult {
  std::uint64_t matches = 0;
  std::uint64_t checksum = 0;

  bool operator==(const JoinResult&) const = default;
};

/// The result by construction.
JoinResult expected_join(const JoinSettings& settings);

/// Prints the block that a join ends with, all but its verdict. `title` is what it is called, `seconds` what all
/// iterations took.
void report_join(const char* title, const JoinSettings& settings, double seconds, const JoinResult& result);

}  // namespace workloads
