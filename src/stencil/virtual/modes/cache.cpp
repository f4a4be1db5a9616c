// The fast memory as a cache of the slow one, direct-mapped, as MCDRAM is in cache mode (A. Sodani et al., IEEE
// Micro 36(2), 2016). Where data lie in memory is taken to be random: data are still there with probability exp(-D
// / C), D being the bytes of other data that were accessed since, C the cache's. Both memories work at a time.
#include <algorithm>
#include <cmath>

#include "stencil/virtual/dataset_blocks.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {
namespace {

constexpr int k_halvings = 10;  // of the cache: shares that tiles may take

class Cache final : public Mode {
 public:
  Cache(const Pair& pair, const ModeOptions& options) : pair_(pair), options_(options) {}

  void add(const DatasetAbout& about) override {
    abouts_.push_back(about);
    blocks_.add(about, reuse_);
    changed_.resize(blocks_.count(), 0);
  }

  void run(std::span<const Loop> chain) override {
    const OuterTiles tiles(chain, abouts_, options_.is_tiled ? length(chain) : 0);
    for (std::size_t t = 0; t < tiles.count(); ++t)
      for (std::size_t l = 0; l < chain.size(); ++l) do_part(chain[l], tiles.part(l, t));
    counts_.tiles += static_cast<double>(tiles.count());
    counts_.seconds = counts_.loop_seconds;
  }

 private:
  // By the least that tiles read again: their skew, and what the cache has lost of them when they come back to it.
  [[nodiscard]] std::ptrdiff_t length(std::span<const Loop> chain) const {
    std::ptrdiff_t best = 0;
    auto least = HUGE_VAL;
    for (int i = 1; i <= k_halvings; ++i) {
      const auto share = std::ldexp(1.0, -i);
      const auto length = length_that_fits(chain, abouts_, share * pair_.fast_bytes);
      if (length == 0) continue;
      const OuterTiles tiles(chain, abouts_, length);
      const auto again = 1 + static_cast<double>(tiles.skew()) / static_cast<double>(length);
      // Each of the loops finds the tile's data less what was displaced since the loop before.
      const auto lost = 1 - std::exp(-share);
      const auto cost = again + lost * static_cast<double>(chain.size());
      if (cost < least) {
        least = cost;
        best = length;
      }
    }
    return best;
  }

  void do_part(const Loop& loop, const Range& part) {
    if (part.empty()) return;
    const auto share = static_cast<double>(part.points()) / static_cast<double>(loop.range.points());
    double bytes = 0, missed = 0, stored = 0;
    for (const auto& argument : loop.arguments) {
      const auto times = reads(argument.access) && writes(argument.access) ? 2.0 : 1.0;
      const auto all = static_cast<double>(argument.element) * static_cast<double>(loop.range.points()) * share;
      blocks_.for_each(argument, part, [&](std::size_t block, double /*bytes*/, double of_accesses) {
        const auto lost = 1 - std::exp(-reuse_.access(block) / pair_.fast_bytes);
        missed += of_accesses * all * lost;
        stored += of_accesses * all * lost * changed_[block];
        // What came again is as the slow memory has it.
        changed_[block] = writes(argument.access) ? 1 : changed_[block] * (1 - lost);
      });
      bytes += times * all;
    }
    counts_.accesses += bytes;
    counts_.hits += bytes - missed;
    counts_.bytes_in += missed;
    counts_.bytes_out += stored;
    counts_.loop_seconds += std::max({pair_.loop_seconds(bytes), (bytes + missed + stored) / pair_.fast_bandwidth,
                                      (missed + stored) / pair_.slow_bandwidth});
  }

  Pair pair_;
  ModeOptions options_;
  std::vector<DatasetAbout> abouts_;
  DatasetBlocks blocks_;
  Reuse reuse_;
  std::vector<double> changed_;  // share of a block that differs from the slow memory
};

class CacheVariant final : public ModeVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "cache"; }
  [[nodiscard]] std::unique_ptr<Mode> make(const Pair& pair, const ModeOptions& options) const override {
    return std::make_unique<Cache>(pair, options);
  }
};

}  // namespace

const ModeVariant& cache_mode() {
  static const CacheVariant variant;
  return variant;
}

}  // namespace terrace::stencil
