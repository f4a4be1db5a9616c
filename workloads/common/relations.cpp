// Makes the relations.
#include "common/relations.hpp"

#include <bit>
#include <cstdio>
#include <string>
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

/// A number below 2^bits for each such number, one to one, as if at random.
std::uint64_t scatter(std::uint64_t x, int bits, std::uint64_t seed) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::uint64_t round = 0; round < 3; ++round) {
    x = (x + random_at(seed, round)) & mask;
    x = (x * 0x9e3779b97f4a7c15) & mask;
    x ^= x >> (bits + 1) / 2;
  }
  return x;
}

/// In random order. A shuffle reaches all over the relation for each tuple; where that is larger than memory it
/// takes longer than any join, and one pass over numbers that are scattered serves as well.
template <class TupleAt>
void fill(Relation& relation, const std::string& order, std::uint64_t seed, TupleAt tuple_at) {
  const std::uint64_t size = relation.size();
  if (order == "shuffled") {
    for (std::uint64_t i = 0; i < size; ++i) relation[i] = tuple_at(i);
    return shuffle(relation, seed);
  }
  const int bits = std::bit_width(size);
  std::uint64_t filled = 0;
  for (std::uint64_t i = 0; filled < size; ++i) {
    const std::uint64_t at = scatter(i, bits, seed);
    if (at < size) relation[filled++] = tuple_at(at);
  }
}

}  // namespace

JoinSettings parse_join_settings(int argc, char** argv, const char* program, const char* summary) {
  JoinSettings settings;
  Options options(program, summary);
  options.count("--tuples", &settings.tuples, "of the smaller relation, 2 to 2^31 (524288)");
  options.count("--ratio", &settings.ratio, "tuples of the larger relation for each of the smaller, up to 64 (4)");
  options.count("--iterations", &settings.iterations, "joins (3)");
  options.count("--seed", &settings.seed, "of the relations' order (1)");
  options.text("--order", &settings.order, "of the tuples: shuffled, or scattered, made in one pass (shuffled)");
  declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  use_threads(options, settings.threads);
  if (settings.tuples < 2 || settings.tuples > std::uint64_t{1} << 31) {
    options.fail("--tuples: from 2 to 2^31");
  }
  if (settings.ratio > 64 || settings.tuples * settings.ratio > std::uint64_t{1} << 32) {
    options.fail("--ratio: at most 64, and 2^32 tuples of the larger relation");
  }
  if (settings.order != "shuffled" && settings.order != "scattered") {
    options.fail("--order: shuffled or scattered");
  }
  return settings;
}

Relation make_build_side(const JoinSettings& settings) {
  Relation relation(settings.tuples);
  fill(relation, settings.order, settings.seed, [](std::uint64_t i) {
    return Tuple{key_of(i), build_payload(i)};
  });
  return relation;
}

Relation make_probe_side(const JoinSettings& settings) {
  Relation relation(settings.tuples * settings.ratio);
  fill(relation, settings.order, settings.seed + 1, [&](std::uint64_t i) {
    const std::uint64_t item = i % (2 * settings.tuples);
    return Tuple{key_of(item), probe_payload(item)};
  });
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
