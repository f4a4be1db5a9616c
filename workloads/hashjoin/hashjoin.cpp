// Hash join in main memory, without partitioning: all threads build one hash table of the smaller relation, then
// all look the larger relation's tuples up in it. Source: Blanas, Li and Patel, "Design and evaluation of main
// memory hash join algorithms for multi-core CPUs", SIGMOD 2011, section 3.1. The table's buckets are chains of
// tuple numbers, threaded without latches.
//
// The relations are made so that the result is known: tuple i of the smaller one is about item i of n; the larger
// one names items below 2n, each equally often, in random order. So every second look-up finds nothing.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace hashjoin {

struct Tuple {
  std::uint64_t key;
  std::uint64_t payload;
};
using Relation = std::vector<Tuple>;

struct Settings {
  std::uint64_t tuples = 1 << 19;
  std::uint64_t ratio = 4;
  std::uint64_t iterations = 3;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

// An item's key, and what the two relations say of it. Keys are distinct because mix() is one to one.
std::uint64_t key_of(std::uint64_t item) { return workloads::mix(item + 1); }
std::uint64_t build_payload(std::uint64_t item) { return item + 1; }
std::uint64_t probe_payload(std::uint64_t item) { return 2 * item + 1; }

void shuffle(Relation& relation, std::uint64_t seed) {
  for (std::uint64_t i = relation.size(); i > 1; --i) {
    std::swap(relation[i - 1], relation[workloads::below(workloads::random_at(seed, i), i)]);
  }
}

Relation make_build_side(const Settings& settings) {
  Relation relation(settings.tuples);
  for (std::uint64_t i = 0; i < relation.size(); ++i) relation[i] = {key_of(i), build_payload(i)};
  shuffle(relation, settings.seed);
  return relation;
}

Relation make_probe_side(const Settings& settings) {
  Relation relation(settings.tuples * settings.ratio);
  for (std::uint64_t i = 0; i < relation.size(); ++i) {
    const std::uint64_t item = i % (2 * settings.tuples);
    relation[i] = {key_of(item), probe_payload(item)};
  }
  shuffle(relation, settings.seed + 1);
  return relation;
}

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

/// What a join gives: how many pairs, and the sum of their payloads' products, modulo 2^64.
struct Result {
  std::uint64_t matches = 0;
  std::uint64_t checksum = 0;

  bool operator==(const Result&) const = default;
};

[[gnu::noinline]] Result probe(const Relation& build_side, const Table& table, const Relation& probe_side) {
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

/// The result by construction. Items below n are named once in each whole turn of 2n and in a half turn at the
/// end; the sum over i of (i + 1)(2i + 1) for i below n is n (n + 1) (4n - 1) / 6.
Result expected(const Settings& settings) {
  const std::uint64_t n = settings.tuples;
  const std::uint64_t turns = (settings.ratio + 1) / 2;
  __extension__ using Wide = unsigned __int128;
  const Wide sum = Wide{n} * (n + 1) * (4 * n - 1) / 6;
  return {turns * n, turns * static_cast<std::uint64_t>(sum)};
}

int run(const Settings& settings) {
  const Relation build_side = make_build_side(settings);
  const Relation probe_side = make_probe_side(settings);
  Table table(settings.tuples);

  const Result right = expected(settings);
  Result result;
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

  const double tuples = static_cast<double>(build_side.size() + probe_side.size());
  std::printf("Hash join: %zu with %zu tuples of %zu bytes, %llu iterations\n", build_side.size(),
              probe_side.size(), sizeof(Tuple), static_cast<unsigned long long>(settings.iterations));
  std::printf("Time %14.9f s %14.0f tuples a second\n", end - begin,
              tuples * static_cast<double>(settings.iterations) / (end - begin));
  std::printf("Matches %llu, expected %llu; checksum %016llx, expected %016llx\n",
              static_cast<unsigned long long>(result.matches), static_cast<unsigned long long>(right.matches),
              static_cast<unsigned long long>(result.checksum), static_cast<unsigned long long>(right.checksum));
  return workloads::verdict(verified);
}

}  // namespace hashjoin

int main(int argc, char** argv) {
  hashjoin::Settings settings;
  workloads::Options options("hashjoin", "hash join in main memory, without partitioning");
  options.count("--tuples", &settings.tuples, "of the smaller relation, 2 to 2^31 (524288)");
  options.count("--ratio", &settings.ratio, "tuples of the larger relation for each of the smaller, up to 64 (4)");
  options.count("--iterations", &settings.iterations, "joins (3)");
  options.count("--seed", &settings.seed, "of the relations' order (1)");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.tuples < 2 || settings.tuples > std::uint64_t{1} << 31) {
    options.fail("--tuples: from 2 to 2^31");
  }
  if (settings.ratio > 64 || settings.tuples * settings.ratio > std::uint64_t{1} << 32) {
    options.fail("--ratio: at most 64, and 2^32 tuples of the larger relation");
  }
  return hashjoin::run(settings);
}
