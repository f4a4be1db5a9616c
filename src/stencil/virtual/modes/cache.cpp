// The fast memory as a cache of the slow one, direct-mapped, as MCDRAM is in cache mode (A. Sodani et al., IEEE
// Micro 36(2), 2016). Where data lie in memory is taken to be random: data are still there with probability exp(-D
// / C), D being the bytes of other data that were accessed since, C the cache's. Both memories work at a time.
#include <algorithm>
#include <cmath>

#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"
#include "stencil/virtual/reuse.hpp"

namespace terrace::stencil {
namespace {

constexpr std::ptrdiff_t k_blocks = 512;  // of a dataset
constexpr int k_halvings = 10;            // of the cache: shares that tiles may take

class Cache final : public Mode {
 public:
  Cache(const Pair& pair, const ModeOptions& options) : pair_(pair), options_(options) {}

  void add(const DatasetAbout& about) override {
    abouts_.push_back(about);
    const auto outer = about.range.length(2) > 1 ? 2U : 1U;
    const auto rows = about.range.length(outer);
    const auto per_block = (rows + k_blocks - 1) / k_blocks;
    const auto blocks = (rows + per_block - 1) / per_block;
    kept_.push_back({blocks_, per_block, about.range.begin[outer]});
    blocks_ += static_cast<std::size_t>(blocks);
    const auto bytes = static_cast<double>(about.bytes()) / static_cast<double>(blocks);
    reuse_.add_blocks(static_cast<std::size_t>(blocks), bytes);
    changed_.resize(blocks_, 0);
  }

  void run(std::span<const Loop> chain) override {
    const OuterTiles tiles(chain, abouts_, options_.is_tiled ? length(chain) : 0);
    for (std::size_t t = 0; t < tiles.count(); ++t)
      for (std::size_t l = 0; l < chain.size(); ++l) do_part(chain[l], tiles.part(l, t), tiles.outer());
    counts_.tiles += static_cast<double>(tiles.count());
    counts_.seconds = counts_.loop_seconds;
  }

 private:
  struct Kept {
    std::size_t first;
    std::ptrdiff_t rows;  // of a block
    std::ptrdiff_t begin;
  };

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

  void do_part(const Loop& loop, const Range& part, std::size_t outer) {
    if (part.empty()) return;
    const auto share = static_cast<double>(part.points()) / static_cast<double>(loop.range.points());
    double bytes = 0, missed = 0, stored = 0;
    for (const auto& argument : loop.arguments) {
      const auto& kept = kept_[argument.dataset];
      const auto reached = reached_range(part, argument);
      const auto first = (reached.begin[outer] - kept.begin) / kept.rows;
      const auto last = (reached.end[outer] - 1 - kept.begin) / kept.rows;
      const auto times = reads(argument.access) && writes(argument.access) ? 2.0 : 1.0;
      const auto all = static_cast<double>(argument.element) * static_cast<double>(loop.range.points()) * share;
      const auto each = all / static_cast<double>(last - first + 1);
      for (auto b = first; b <= last; ++b) {
        const auto block = kept.first + static_cast<std::size_t>(b);
        const auto share_lost = 1 - std::exp(-reuse_.access(block) / pair_.fast_bytes);
        missed += each * share_lost;
        stored += each * share_lost * changed_[block];
        // What came again is as the slow memory has it.
        changed_[block] = writes(argument.access) ? 1 : changed_[block] * (1 - share_lost);
      }
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
  std::vector<Kept> kept_;
  std::size_t blocks_ = 0;
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
