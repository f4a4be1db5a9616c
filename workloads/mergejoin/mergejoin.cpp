// Sort-merge join in main memory: both relations are sorted by key (merge_sort.hpp), then merged. Source: Kim et
// al., "Sort vs. hash revisited: fast join implementation on modern multi-core CPUs", VLDB 2009, section 4;
// Balkesen, Alonso, Teubner and Oezsu, "Multi-core, main-memory joins: sort vs. hash revisited", VLDB 2013. Its
// data and their known result are the hash join's (relations.hpp).
//
// An iteration sorts copies of the relations, the smaller one first (runs.small, merge.small.1, merge.small.2,
// ...; then runs.large and so on), and joins them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/merge_sort.hpp"
#include "common/relations.hpp"
#include "common/verdict.hpp"

namespace mergejoin {

using workloads::JoinResult;
using workloads::Relation;
using workloads::Tuple;

/// Two arrays to sort a relation between.
struct Pair {
  Relation* from;
  Relation* to;
};

// The kernels are never inlined, so that each keeps its name at run time.

[[gnu::noinline]] void copy(const Relation& relation, Relation& to) {
  const std::uint64_t tuples = relation.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < tuples; ++i) to[i] = relation[i];
}

/// The tuples of `relation` by key, in one of the pair's arrays. `name` is what its phases are called after.
const Relation& sorted(const Relation& relation, Pair pair, const std::string& name) {
  workloads::phase(("runs." + name).c_str());
  copy(relation, *pair.from);
  sort_runs(*pair.from);
  int pass = 0;
  for (std::uint64_t length = workloads::k_run; length < relation.size(); length *= 2) {
    workloads::phase(("merge." + name + '.' + std::to_string(++pass)).c_str());
    merge_runs(*pair.from, *pair.to, length);
    std::swap(pair.from, pair.to);
  }
  return *pair.from;
}

/// Joins the tuples [large, large_end) with those of `small` that have their keys; all are sorted.
JoinResult join_range(const Relation& small, const Tuple* large, const Tuple* large_end) {
  JoinResult result;
  const Tuple* const small_end = small.data() + small.size();
  const Tuple* at = std::lower_bound(small.data(), small_end, *large);
  for (; large != large_end; ++large) {
    while (at != small_end && at->key < large->key) ++at;
    for (const Tuple* found = at; found != small_end && found->key == large->key; ++found) {
      ++result.matches;
      result.checksum += found->payload * large->payload;
    }
  }
  return result;
}

/// Each thread takes pieces of the larger relation and finds where in the smaller one they begin.
[[gnu::noinline]] JoinResult join(const Relation& small, const Relation& large) {
  const std::uint64_t tuples = large.size();
  std::uint64_t matches = 0;
  std::uint64_t checksum = 0;
#pragma omp parallel for schedule(static) reduction(+ : matches, checksum)
  for (std::uint64_t begin = 0; begin < tuples; begin += workloads::k_run) {
    const std::uint64_t end = std::min(begin + workloads::k_run, tuples);
    const JoinResult found = join_range(small, large.data() + begin, large.data() + end);
    matches += found.matches;
    checksum += found.checksum;
  }
  return {matches, checksum};
}

int run(const workloads::JoinSettings& settings) {
  const Relation small = make_build_side(settings);
  const Relation large = make_probe_side(settings);
  Relation small_runs(small.size());
  Relation small_merged(small.size());
  Relation large_runs(large.size());
  Relation large_merged(large.size());

  const JoinResult right = expected_join(settings);
  JoinResult result;
  bool verified = true;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    const Relation& sorted_small = sorted(small, {&small_runs, &small_merged}, "small");
    const Relation& sorted_large = sorted(large, {&large_runs, &large_merged}, "large");
    workloads::phase("join");
    result = join(sorted_small, sorted_large);
    verified = verified && result == right;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  report_join("Sort-merge join", settings, end - begin, result);
  return workloads::verdict(verified);
}

}  // namespace mergejoin

int main(int argc, char** argv) {
  return mergejoin::run(workloads::parse_join_settings(argc, argv, "mergejoin", "sort-merge join in main memory"));
}
