// Hash join in main memory, without partitioning: all threads build one hash table of the smaller relation, then
// all look the larger relation's tuples up in it. Source: Blanas, Li and Patel, "Design and evaluation of main
// memory hash join algorithms for multi-core CPUs", SIGMOD 2011, section 3.1. The table's buckets are chains of
// tuple numbers, threaded without latches. Its result is known by construction (relations.hpp).
#include <bit>
#include <cstdint>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/relations.hpp"
#include "common/verdict.hpp"
#include "hashjoin/scattered.hpp"

namespace hashjoin {

using workloads::JoinResult;
using workloads::Relation;
using workloads::Tuple;

/// Chains of the build side's tuples by hash; a chain ends with k_none.
struct Table {
  static constexpr std::uint32_t k_none = UINT32_MAX;

  explicit Table(std::uint64_t tuples)
      : shift(64 - std::countr_zero(std::bit_ceil(tuples))), first(std::bit_ceil(tuples)), next(tuples) {}

  /// The leading bits of the product with 2^64 / golden ratio. `shift` is below 64 as there are 2 tuples or more.
  std::uint64_t bucket(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift; }

  int shift;
  std::vector<std::uint32_t> first;  // of each bucket
  std::vector<std::uint32_t> next;   // after each tuple
};

// The kernels are never inlined, so that each keeps its name at run time.

[[gnu::noinline]] void clear(Table& table) {
  const std::uint64_t buckets = table.first.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < buckets; ++i) table.first[i] = Table::k_none;
}

[[gnu::noinline]] void build(const Relation& relation, Table& table) {
  const std::uint64_t tuples = relation.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < tuples; ++i) {
    std::uint32_t& head = table.first[table.bucket(relation[i].key)];
    std::uint32_t old = 0;
#pragma omp atomic capture
    {
      old = head;
      head = static_cast<std::uint32_t>(i);
    }
    table.next[i] = old;
  }
}

[[gnu::noinline]] JoinResult probe(const Relation& build_side, const Table& table, const Relation& probe_side) {
  const std::uint64_t tuples = probe_side.size();
  std::uint64_t matches = 0;
  std::uint64_t checksum = 0;
#pragma omp parallel for schedule(static) reduction(+ : matches, checksum)
  for (std::uint64_t i = 0; i < tuples; ++i) {
    const Tuple& wanted = probe_side[i];
    std::uint32_t at = table.first[table.bucket(wanted.key)];
    for (; at != Table::k_none; at = table.next[at]) {
      const Tuple& found = build_side[at];
      if (found.key != wanted.key) continue;
      ++matches;
      checksum += found.payload * wanted.payload;
    }
  }
  return {matches, checksum};
}

int run(const workloads::JoinSettings& settings) {
  const Relation build_side = make_build_side(settings);
  const Relation probe_side =
      settings.tuples * settings.ratio < k_large ? make_probe_side(settings) : scattered_probe_side(settings);
  Table table(settings.tuples);

  const JoinResult right = expected_join(settings);
  JoinResult result;
  bool verified = true;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("build");
    clear(table);
    build(build_side, table);
    workloads::phase("probe");
    result = probe(build_side, table, probe_side);
    verified = verified && result == right;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  report_join("Hash join", settings, end - begin, result);
  return workloads::verdict(verified);
}

}  // namespace hashjoin

int main(int argc, char** argv) {
  return hashjoin::run(
      workloads::parse_join_settings(argc, argv, "hashjoin", "hash join in main memory, without partitioning"));
}
