// SPDX-License-Identifier: Apache-2.0
// Mode `unified`: GPU unified memory. Pages migrate to GPU memory on access, and the least recently used ones
// are evicted. The driver first migrates the pages that loops wait for, then those evicted for them, and loops
// stall meanwhile. With prefetching, all pages of a tile are requested while the previous tile runs. Selected by
// how=unified of terrace-stencils.
#include <algorithm>

#include "core/error.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"
#include "stencil/virtual/reuse_distance.hpp"

namespace terrace::stencil {
namespace {

constexpr double k_tile_share = 4;  // maximum fraction of the fast memory per tile

class Unified final : public Mode {
 public:
  Unified(const TwoTierMachine& tiers, const ModeOptions& options)
      : tiers_(tiers), slow_(tiers, true), options_(options) {
    if (tiers.fault <= 0)
      throw Error(Code::invalid,
                  "how=unified needs a machine file with a [[gpu]], which states the cost of a fault: name one "
                  "with machine=FILE");
  }

  void add(const DatasetInfo& info) override {
    slow_.reserve(static_cast<double>(info.bytes()));
    infos_.push_back(info);
    blocks_.add(info, reuse_);
    changed_.resize(blocks_.count(), false);
  }

  void run(std::span<const Loop> chain) override {
    const auto length = options_.is_tiled ? length_that_fits(chain, infos_, tiers_.fast_bytes / k_tile_share) : 0;
    if (options_.is_tiled && length == 0) counts_.untiled_chains += 1;
    const OuterTiles tiles(chain, infos_, length);
    double loops_before = 0;
    for (std::size_t t = 0; t < tiles.count(); ++t) {
      double loops = 0, moves = 0;
      for (std::size_t l = 0; l < chain.size(); ++l) {
        const auto part = tiles.part(l, t);
        if (part.empty()) continue;
        const auto bytes = bytes_of_part(chain[l], part);
        counts_.accesses += bytes;
        loops += tiers_.loop_seconds(bytes);
        moves += touch(chain[l], part);
      }
      counts_.loop_seconds += loops;
      // Part that tiles hide by running while the next one's pages migrate.
      const auto hidden = options_.is_prefetched && options_.is_tiled ? std::min(moves, loops_before) : 0;
      counts_.seconds += loops + moves - hidden;
      counts_.copy_seconds += moves;
      counts_.hidden_seconds += hidden;
      loops_before = loops;
      counts_.tiles += 1;
    }
  }

 private:
  // Returns the seconds in which the driver migrates missing pages.
  double touch(const Loop& loop, const Range& part) {
    const auto share = static_cast<double>(part.points()) / static_cast<double>(loop.range.points());
    double in = 0, out = 0;
    for (const auto& argument : loop.arguments) {
      const auto times = reads(argument.access) && writes(argument.access) ? 2.0 : 1.0;
      const auto all = static_cast<double>(argument.element) * static_cast<double>(loop.range.points()) * share;
      counts_.hits += all * (times - 1);  // pages that were read are resident when written
      blocks_.for_each(argument, part, [&](std::size_t block, double bytes, double of_accesses) {
        const auto is_there = reuse_.access(block) + bytes <= tiers_.fast_bytes;
        if (is_there) counts_.hits += of_accesses * all;
        if (!is_there) {
          in += bytes;
          if (changed_[block]) out += bytes;  // it was evicted in between
          changed_[block] = false;
        }
        if (writes(argument.access)) changed_[block] = true;
      });
    }
    counts_.bytes_in += in;
    counts_.bytes_out += out;
    const auto faults = options_.is_prefetched && options_.is_tiled ? 0 : in / tiers_.fault_bytes * tiers_.fault;
    return faults + in / tiers_.in_bandwidth + out / tiers_.out_bandwidth;
  }

  TwoTierMachine tiers_;
  SlowMemoryBudget slow_;  // pages are in either memory
  ModeOptions options_;
  std::vector<DatasetInfo> infos_;
  DatasetBlocks blocks_;
  ReuseDistance reuse_;
  std::vector<bool> changed_;
};

}  // namespace

const ModeVariant& unified_mode() {
  static const ModeVariant variant{
      "unified", {"memory", "slow_memory", "tiled", "prefetched"}, make_mode<Unified>};
  return variant;
}

}  // namespace terrace::stencil
