// SPDX-License-Identifier: Apache-2.0
// Mode `slots`: triple buffering in the fast memory, as published. While a tile runs in one slot, the next
// tile's data are fetched into another, and the previous results leave the third; data that two tiles share are
// copied from slot to slot. I. Reguly et al., "Beyond 16GB: out-of-core stencil computations", MCHPC 2017,
// algorithm 1 and section 4.1. Its stream 0 is the lane of loops here, 1 that of copies to the fast memory, 2
// that of copies back. Selected by how=slots of terrace-stencils.
#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"
#include "stencil/virtual/overlap_model.hpp"

namespace terrace::stencil {
namespace {

constexpr double k_slots = 3;

// Serial copies, one for each dataset.
struct Copies {
  double bytes = 0;
  CopyPrice price;
  void add(const TwoTierMachine& tiers, double more) {
    if (more <= 0) return;
    const auto each = tiers.copy_price(more);
    bytes += more;
    price.begin += each.begin;
    price.stall += each.stall;
  }
};

class Slots final : public Mode {
 public:
  Slots(const TwoTierMachine& tiers, const ModeOptions& options)
      : tiers_(tiers), slow_(tiers), options_(options), overlap_(tiers) {}
  void add(const DatasetInfo& info) override {
    slow_.reserve(static_cast<double>(info.bytes()));
    infos_.push_back(info);
  }

  void run(std::span<const Loop> chain) override {
    const auto length = length_that_fits(chain, infos_, tiers_.fast_bytes / k_slots);
    if (length == 0)
      throw NoTileFits("a third of " + format(Bytes{static_cast<std::uint64_t>(tiers_.fast_bytes)}), chain.size());
    const OuterTiles tiles(chain, infos_, length);
    fetch_first(tiles);
    for (std::size_t t = 0; t < tiles.count(); ++t) {
      const auto is_last = t + 1 == tiles.count();
      overlap_.wait(Lane::loops);
      overlap_.wait(Lane::in);
      if (!is_last)
        fetch(coming(tiles, t + 1));
      else if (options_.is_prefetched)
        prefetch_next(tiles);
      overlap_.run(tiles.loop_bytes(t), tiles.pieces(t));
      counts_.accesses += tiles.loop_bytes(t);
      overlap_.wait(Lane::loops);
      overlap_.wait(Lane::out);
      if (!is_last) copy_shared(tiles, t);
      const auto stored = leaving(tiles, t);
      counts_.bytes_out += stored.bytes;
      if (stored.bytes > 0) overlap_.copy(Lane::out, stored.bytes, stored.price);
      counts_.tiles += 1;
    }
    // Prefetches for a chain that has not begun do not count into this chain's time.
    auto all = overlap_;
    all.wait(Lane::loops);
    all.wait(Lane::out);
    counts_.seconds = all.now();
    counts_.loop_seconds = all.loop_seconds();
    counts_.copy_seconds = all.copy_seconds();
    counts_.hidden_seconds = all.hidden_seconds();
    counts_.hits = counts_.accesses;
  }

 private:
  using Lane = OverlapModel::Lane;
  using OuterIntervals = std::map<DatasetId, OuterInterval>;

  void fetch(const Copies& copies) {
    counts_.bytes_in += copies.bytes;
    if (copies.bytes > 0) overlap_.copy(Lane::in, copies.bytes, copies.price);
  }
  // Fetches the first tile's data, except what was prefetched while the previous chain ended. Prefetched bytes
  // are counted now: they count whether this chain needs them or not, but only if there is a chain.
  void fetch_first(const OuterTiles& tiles) {
    Copies late_copies;
    auto is_late = false;
    for (const auto& [dataset, interval] : needed(tiles, 0)) {
      auto there = OuterInterval{};
      if (const auto found = ahead_.find(dataset); found != ahead_.end()) there = common(interval, found->second);
      late_copies.add(tiers_, tiles.bytes(dataset, interval) - tiles.bytes(dataset, there));
      const auto late = late_.find(dataset);
      is_late = is_late || (late != late_.end() && common(interval, late->second).length() > 0);
    }
    counts_.bytes_in += ahead_bytes_;
    ahead_bytes_ = 0;
    ahead_.clear();
    if (is_late) overlap_.wait(Lane::out);
    fetch(late_copies);
    find_late(tiles);
  }
  // Stores which data of the last tile, and of the one before, are still being written back while the last one
  // runs: the next chain must wait for them.
  void find_late(const OuterTiles& tiles) {
    late_.clear();
    for (auto t = tiles.count() - std::min<std::size_t>(tiles.count(), 2); t < tiles.count(); ++t)
      for (const auto& [dataset, interval] : tiles.used(t)) {
        if (tiles.use(dataset).written.all().empty()) continue;
        auto& late = late_.try_emplace(dataset, interval).first->second;
        late = {std::min(late.begin, interval.begin), std::max(late.end, interval.end)};
      }
  }
  // Predicts that the next chain's first tile needs what this chain's did.
  void prefetch_next(const OuterTiles& tiles) {
    Copies copies;
    for (const auto& [dataset, interval] : needed(tiles, 0)) {
      auto own = interval;
      if (const auto late = late_.find(dataset); late != late_.end())
        own.end = std::min(own.end, late->second.begin);
      if (own.length() == 0) continue;
      ahead_.emplace(dataset, own);
      copies.add(tiers_, tiles.bytes(dataset, own));
    }
    ahead_bytes_ = copies.bytes;
    if (copies.bytes > 0) overlap_.copy(Lane::in, copies.bytes, copies.price);
  }
  // Returns what a tile needs of each dataset from before the chain.
  [[nodiscard]] static OuterIntervals needed(const OuterTiles& tiles, std::size_t tile) {
    OuterIntervals all;
    for (const auto& [dataset, interval] : tiles.used(tile))
      // needed: not overwritten first
      if (!tiles.use(dataset).needed.all().empty()) all.emplace(dataset, interval);
    return all;
  }
  // Returns what a tile needs, without data shared with the previous tile.
  [[nodiscard]] Copies coming(const OuterTiles& tiles, std::size_t tile) const {
    Copies copies;
    for (auto [dataset, own] : needed(tiles, tile)) {
      if (const auto before = tiles.used(tile - 1).find(dataset); before != tiles.used(tile - 1).end())
        own.begin = std::max(own.begin, before->second.end);
      copies.add(tiers_, tiles.bytes(dataset, own));
    }
    return copies;
  }
  // Returns what a tile writes back, without data shared with the next tile.
  [[nodiscard]] Copies leaving(const OuterTiles& tiles, std::size_t tile) const {
    Copies copies;
    for (const auto& [dataset, interval] : tiles.used(tile)) {
      const auto& use = tiles.use(dataset);
      if (use.written.all().empty()) continue;  // only read
      if (options_.is_cyclic && use.needed.all().empty()) continue;
      auto own = interval;
      if (tile + 1 < tiles.count())
        if (const auto next = tiles.used(tile + 1).find(dataset); next != tiles.used(tile + 1).end())
          own.end = std::min(own.end, next->second.begin);
      copies.add(tiers_, tiles.bytes(dataset, own));
    }
    return copies;
  }
  [[nodiscard]] static OuterInterval common(const OuterInterval& one, const OuterInterval& other) {
    return {std::max(one.begin, other.begin), std::min(one.end, other.end)};
  }
  // Queues the copies of data that the next tile shares, from slot to slot.
  void copy_shared(const OuterTiles& tiles, std::size_t tile) {
    double bytes = 0, copies = 0;
    for (const auto& [dataset, interval] : tiles.used(tile)) {
      const auto next = tiles.used(tile + 1).find(dataset);
      if (next == tiles.used(tile + 1).end()) continue;
      bytes += tiles.bytes(dataset, common(interval, next->second));
      copies += 1;
    }
    overlap_.copy_within(bytes, copies);
  }

  TwoTierMachine tiers_;
  SlowMemoryBudget slow_;
  ModeOptions options_;
  std::vector<DatasetInfo> infos_;
  OverlapModel overlap_;
  OuterIntervals late_;
  OuterIntervals ahead_;  // prefetched for the next chain while the last tile ran
  double ahead_bytes_ = 0;
};

}  // namespace

const ModeVariant& slots_mode() {
  static const ModeVariant variant{"slots", {"memory", "slow_memory", "cyclic", "prefetched"}, make_mode<Slots>};
  return variant;
}

}  // namespace terrace::stencil
