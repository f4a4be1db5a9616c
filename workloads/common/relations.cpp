// Generates the two relations that the workloads hashjoin and mergejoin join. See relations.hpp.
#include "common/relations.hpp"

#include <cstdio>
#include <utility>

#include "common/random.hpp"
#include "common/threads.hpp"

namespace workloads {
namespace {

// An item's key, and what the two relations say of it. Keys are distinct because mix() is one to one.
std::uint64_t key_of(std::uint64_t item) { return mix(item + 1); }
std::uint64_t build_payload(std::uint64_t item) { return item + 1; }
std::uint64_t probe_payload(std::uint64_t item) { return 2 * item + 1; }

void shuffle(Relation& relation, std::uint64_t seed) {
  for (std::uint64_t i = relation.size(); i > 1; --i) {
    std::swap(relation[i - 1], relation[below(random_at(seed, i), i)]);
  }
}

}  // namespace

JoinSettings parse_join_settings(int argc, char** argv, const char* program, const char* summary) {
  JoinSettings settings;
  Options options(program, summary);
  options.count("--tuples", &settings.tuples, "tuples of the smaller relation, 2 to 2^31");
  options.count("--ratio", &settings.ratio, "larger relation's tuples per tuple of the smaller one, up to 64");
  options.count("--iterations", &settings.iterations, "number of joins");
  options.count("--seed", &settings.seed, "seed of the shuffled order");
  declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  use_threads(options, settings.threads);
  if (settings.tuples < 2 || settings.tuples > std::uint64_t{1} << 31) {
    options.fail("--tuples: from 2 to 2^31");
  }
  if (settings.ratio > 64 || settings.tuples * settings.ratio > std::uint64_t{1} << 32) {
    options.fail("--ratio: at most 64, and 2^32 tuples of the larger relation");
  }
  return settings;
}

Relation make_build_side(const JoinSettings& settings) {
  Relation relation(settings.tuples);
  for (std::uint64_t i = 0; i < relation.size(); ++i) relation[i] = {key_of(i), build_payload(i)};
  shuffle(relation, settings.seed);
  return relation;
}

Relation make_probe_side(const JoinSettings& settings) {
  Relation relation(settings.tuples * settings.ratio);
  for (std::uint64_t i = 0; i < relation.size(); ++i) {
    const std::uint64_t item = i % (2 * settings.tuples);
    relation[i] = {key_of(item), probe_payload(item)};
  }
  shuffle(relation, settings.seed + 1);
  return relation;
}

// Items below n are named once in each whole turn of 2n and in a half turn at the end; the sum over i of
// (i + 1)(2i + 1) for i below n is n (n + 1) (4n - 1) / 6.
JoinResult expected_join(const JoinSettings& settings) {
  const std::uint64_t n = settings.tuples;
  const std::uint64_t turns = (settings.ratio + 1) / 2;
  __extension__ using Wide = unsigned __int128;
  const Wide sum = Wide{n} * (n + 1) * (4 * n - 1) / 6;
  return {turns * n, turns * static_cast<std::uint64_t>(sum)};
}

void report_join(const char* title, const JoinSettings& settings, double seconds, const JoinResult& result) {
  const JoinResult right = expected_join(settings);
  const std::uint64_t larger = settings.tuples * settings.ratio;
  std::printf("%s: %llu with %llu tuples of %zu bytes, %llu iterations\n", title,
              static_cast<unsigned long long>(settings.tuples), static_cast<unsigned long long>(larger),
              sizeof(Tuple), static_cast<unsigned long long>(settings.iterations));
  std::printf("Time %14.9f s %14.0f tuples a second\n", seconds,
              static_cast<double>(settings.tuples + larger) * static_cast<double>(settings.iterations) / seconds);
  std::printf("Matches %llu, expected %llu; checksum %016llx, expected %016llx\n",
              static_cast<unsigned long long>(result.matches), static_cast<unsigned long long>(right.matches),
              static_cast<unsigned long long>(result.checksum), static_cast<unsigned long long>(right.checksum));
}

}  // namespace workloads
