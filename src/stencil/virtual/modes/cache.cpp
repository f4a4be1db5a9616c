// SPDX-License-Identifier: Apache-2.0
// Mode `cache`: the fast memory is a direct-mapped cache of the slow one, like MCDRAM in cache mode (A. Sodani
// et al., IEEE Micro 36(2), 2016). Both memories work concurrently. Selected by how=cache of terrace-stencils.
//
// Tiles are of the outermost dimension, or of two dimensions in the shapes that the published library uses by
// default: in three dimensions whole rows, as many of them as planes; in two, rows three times as long as their
// number. The mode picks the size and shape of the least time.
#include <algorithm>
#include <cmath>
#include <utility>

#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/virtual/last_accesses.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {
namespace {

constexpr int k_halvings = 8;           // fraction of the cache that a tile's own points may fill
constexpr double k_worth = 0.01;        // fraction of the time by which half the size must be faster
constexpr std::ptrdiff_t k_longer = 3;  // ratio of row length to number of rows in two dimensions
using Size = std::array<std::ptrdiff_t, k_max_dims>;

// Costs of a part of a loop.
struct Part {
  double loop;  // seconds in the fast memory
  double slow;  // seconds in the slow memory, alone
};

// Totals of a chain.
struct Counts {
  std::vector<Part> parts;
  double loops = 0;  // seconds over all parts
  double slow = 0;
  double accesses = 0;
  double missed = 0;  // misses of the accesses
  double came = 0;    // misses of what loops reach outside their points
  double stored = 0;
};

// Returns the time of one of several processes that each run the same share of each part. The time is
// consistent: the slow memory's bandwidth, less what the others use in that time, suffices for this process.
double seconds_of(const Counts& counts, double processes) {
  const auto with = [&](double seconds) {
    const auto share = processes - (processes - 1) * counts.slow / seconds;  // 1: as if alone
    double sum = 0;
    for (const auto& part : counts.parts) sum += std::max(part.loop, part.slow / share);
    return sum;
  };
  auto high = 0.0;
  for (const auto& part : counts.parts) high += std::max(part.loop, part.slow);
  if (processes == 1) return high;
  auto low = std::max(counts.loops, counts.slow);
  while (high - low > 1e-9 * high) {
    const auto middle = (low + high) / 2;
    (with(middle) > middle ? low : high) = middle;
  }
  return high;
}

class Cache final : public Mode {
 public:
  Cache(const TwoTierMachine& tiers, const ModeOptions& options)
      : tiers_(tiers), slow_(tiers), options_(options), accesses_(tiers.fast_bytes) {}

  void add(const DatasetInfo& info) override {
    slow_.reserve(static_cast<double>(info.bytes()));
    infos_.push_back(info);
    accesses_.add(info);
  }

  void run(std::span<const Loop> chain) override {
    const TilePlan tiles(chain, options_.is_tiled ? best_size(chain) : Size{0, 0, 0});
    const auto done = run_tiles(chain, tiles, accesses_, HUGE_VAL);
    counts_.accesses += done.accesses;
    counts_.hits += done.accesses - done.missed;
    counts_.bytes_in += done.came;
    counts_.bytes_out += done.stored;
    counts_.seconds += seconds_of(done, options_.is_tiled ? options_.processes : 1);
    counts_.loop_seconds = counts_.seconds;
    counts_.tiles += static_cast<double>(tiles.count());
  }

 private:
  // Accesses all tiles and returns their costs; stops once the time is sure to exceed `most` seconds.
  [[nodiscard]] Counts run_tiles(std::span<const Loop> chain, const TilePlan& tiles, LastAccesses& accesses,
                                 double most) const {
    Counts counts;
    const auto& count = tiles.tiles();
    std::array<std::size_t, k_max_dims> tile{0, 0, 0};
    for (tile[2] = 0; tile[2] < count[2]; ++tile[2])
      for (tile[1] = 0; tile[1] < count[1]; ++tile[1])
        for (tile[0] = 0; tile[0] < count[0] && std::max(counts.loops, counts.slow) <= most; ++tile[0])
          for (std::size_t l = 0; l < chain.size(); ++l)
            if (const auto part = tiles.part(l, tile); !part.empty()) run_part(chain[l], part, accesses, counts);
    return counts;
  }

  // Returns the distinct points that an argument accesses in a part, if fewer than its bounding range: those read
  // at its offsets, and those written.
  static double touched_points(const Argument& argument, const Range& part) {
    const auto& offsets = argument.stencil.offsets();
    const auto is_own_read = std::ranges::find(offsets, Point{0, 0, 0}) != offsets.end();
    const auto places = (reads(argument.access) ? offsets.size() : 0) +
                        (writes(argument.access) && !(reads(argument.access) && is_own_read) ? 1 : 0);
    return static_cast<double>(places) * static_cast<double>(part.points());
  }

  // Accesses a part of a loop and adds its costs to `counts`.
  void run_part(const Loop& loop, const Range& part, LastAccesses& accesses, Counts& counts) const {
    const auto bytes = bytes_of_part(loop, part);
    std::vector<LastAccesses::Touch> touches;
    std::vector<double> own, touched;  // points of each touch: of the part, and in total
    for (const auto& argument : loop.arguments) {
      const auto is_same = [&](const LastAccesses::Touch& touch) { return touch.dataset == argument.dataset; };
      const auto reached = reached_range(part, argument);
      const auto points = touched_points(argument, part);
      // Remove duplicates.
      if (const auto found = std::ranges::find_if(touches, is_same); found != touches.end()) {
        found->reached = hull(found->reached, reached);
        if (writes(argument.access)) found->written = part;
        touched[static_cast<std::size_t>(found - touches.begin())] += points;
        continue;
      }
      touches.push_back(
          {argument.dataset, reached, writes(argument.access) ? part : Range{{0, 0}, {0, 0}, {0, 0}}});
      own.push_back(static_cast<double>(part.points()));
      touched.push_back(points);
    }
    const auto found = accesses.access(touches);
    double missed = 0, came = 0, stored = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto element = static_cast<double>(infos_[touches[i].dataset].element);
      const auto reached = static_cast<double>(touches[i].reached.points());
      missed += element * own[i] * found[i].lost;
      came += element * std::min(touched[i], reached) * found[i].lost;
      // Bytes of all points that are reached: halos that are never written are not part of it.
      stored += element * reached * found[i].stored;
    }
    counts.accesses += bytes;
    counts.missed += missed;
    counts.came += came;
    counts.stored += stored;
    const Part took{std::max(tiers_.loop_seconds(bytes), (bytes + came + stored) / tiers_.fast_bandwidth),
                    (came + stored) / tiers_.slow_bandwidth};
    counts.parts.push_back(took);
    counts.loops += took.loop;
    counts.slow += took.slow;
  }

  // Returns the seconds of the chain with a tile size, from an empty cache; HUGE_VAL if more than `most`.
  [[nodiscard]] double seconds(std::span<const Loop> chain, const Size& size, double most) const {
    LastAccesses accesses(tiers_.fast_bytes);
    for (const auto& info : infos_) accesses.add(info);
    const auto done = run_tiles(chain, TilePlan(chain, size), accesses, most);
    return std::max(done.loops, done.slow) > most ? HUGE_VAL : seconds_of(done, options_.processes);
  }

  // Returns tile sizes whose own points, without what loops reach outside them, use that many bytes.
  [[nodiscard]] std::vector<Size> sizes(std::span<const Loop> chain, double bytes) const {
    const auto all = hull_of(chain);
    double of_point = 0;
    for (const auto& [dataset, use] : uses_of(chain)) of_point += static_cast<double>(infos_[dataset].element);
    const auto points = bytes / of_point;
    const auto outer = outer_dimension(chain);
    const auto x = static_cast<double>(all.length(0)), y = static_cast<double>(all.length(1));
    const auto length = [](double of) { return static_cast<std::ptrdiff_t>(of); };
    std::vector<Size> found(outer == 0 ? 1 : 2, Size{0, 0, 0});
    found[0][outer] = length(outer == 2 ? points / x / y : outer == 1 ? points / x : points);
    if (outer == 2) found[1] = {0, length(std::sqrt(points / x)), length(std::sqrt(points / x))};
    if (outer == 1) {
      const auto rows = length(std::sqrt(points / k_longer));
      found[1] = {k_longer * rows, rows, 0};
    }
    std::erase_if(found, [&](const Size& size) { return size[outer] < 1 || size[outer] >= all.length(outer); });
    return found;
  }

  // Returns the tile size of the least time, simulated once for each chain; 0: untiled.
  [[nodiscard]] const Size& best_size(std::span<const Loop> chain) {
    auto signature = signature_of(chain);
    if (const auto* const known = sizes_.find(signature)) return *known;
    Size best{0, 0, 0};
    auto least = seconds(chain, best, HUGE_VAL);
    for (int i = 0; i <= k_halvings; ++i) {
      const auto worth = least * (1 - k_worth);
      const auto tried = sizes(chain, std::ldexp(tiers_.fast_bytes, -i));
      for (const auto& size : tried)
        if (const auto takes = seconds(chain, size, least); takes < least) {
          least = takes;
          best = size;
        }
      if (!tried.empty() && least > worth) break;
    }
    return sizes_.add(std::move(signature), best);
  }

  TwoTierMachine tiers_;
  SlowMemoryBudget slow_;
  ModeOptions options_;
  std::vector<DatasetInfo> infos_;
  LastAccesses accesses_;
  LruMap<Signature, Size> sizes_{512};  // of earlier chains
};

}  // namespace

const ModeVariant& cache_mode() {
  static const ModeVariant variant{"cache", {"memory", "slow_memory", "tiled", "processes"}, make_mode<Cache>};
  return variant;
}

}  // namespace terrace::stencil
