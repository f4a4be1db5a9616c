// Data in the slow memory, streamed: in chunks that come and go by themselves, each tile's in time for its loops.
// The size of tiles is the one with which a few such chains take the least time.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "stencil/plan/signature.hpp"
#include "stencil/stream/chain_book.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"
#include "stencil/virtual/stream_run.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_frames = 2048;  // into which the fast memory is divided
constexpr int k_halvings = 5;           // of the fast memory: what a tile may take of it
// Sizes are tried with larger chunks, so that it takes less time, in so many chains, of which the first one counts
// for nothing.
constexpr std::size_t k_tried_frames = 1024;
constexpr int k_tried_chains = 6;

class Streamed final : public Mode {
 public:
  Streamed(const Pair& pair, const ModeOptions& options)
      : pair_(pair),
        layout_{chunk(k_frames), {}, {}},
        tried_{chunk(k_tried_frames), {}, {}},
        run_(pair, layout_.chunk),
        options_(options) {}

  void add(const DatasetAbout& about) override {
    for (auto* layout : {&layout_, &tried_}) {
      layout->shift.push_back(0);
      layout->is_temporary.push_back(about.is_temporary && options_.is_cyclic);
    }
    abouts_.push_back(about);
    run_.add_dataset(kept_chunks(about, layout_));
  }

  void run(std::span<const Loop> chain) override {
    const auto [way, ahead] = book_.next(chain);
    run_.run(chain, *way->tiles, way->stream, options_.is_prefetched ? ahead : nullptr);
    counts_ = run_.counts();
  }

 private:
  [[nodiscard]] std::size_t chunk(std::size_t frames) const {
    return std::max<std::size_t>(static_cast<std::size_t>(pair_.fast_bytes) / frames, 4096);
  }

  // Nothing where the chain's tiles have no room.
  [[nodiscard]] std::optional<ChainBook::Way> way(std::span<const Loop> chain, std::ptrdiff_t length,
                                                  bool is_reversed, const StreamLayout& layout) const {
    const auto outer = outer_dimension(chain);
    std::array<std::ptrdiff_t, k_most_dims> size{0, 0, 0};
    std::array<bool, k_most_dims> reversed{false, false, false};
    size[outer] = length;
    reversed[outer] = is_reversed;
    ChainBook::Way made;
    made.tiles = std::make_unique<TilePlan>(chain, size, reversed);
    made.stream = std::make_shared<StreamPlan>(plan_stream(chain, *made.tiles, outer, 1, abouts_, layout));
    if (made.stream->most_chunks > static_cast<std::size_t>(pair_.fast_bytes) / layout.chunk) return {};
    return made;
  }

  // Of chains like this one, in turns forward and back; they find numbers in the slow memory.
  [[nodiscard]] std::optional<double> seconds(std::span<const Loop> chain, std::ptrdiff_t length) const {
    const auto forward = way(chain, length, false, tried_), back = way(chain, length, true, tried_);
    if (!forward || !back) return {};
    StreamRun tried(pair_, tried_.chunk);
    for (const auto& about : abouts_) {
      const auto kept = kept_chunks(about, tried_);
      tried.add_dataset(kept);
      for (std::uint32_t c = 0; c < kept.size(); ++c)
        if (kept[c]) tried.changed({about.id, c});
    }
    double first = 0;
    for (int i = 0; i < k_tried_chains; ++i) {
      const auto &now = i % 2 == 0 ? forward : back, &next = i % 2 == 0 ? back : forward;
      tried.run(chain, *now->tiles, now->stream, options_.is_prefetched ? next->stream : nullptr);
      if (i == 0) first = tried.counts().seconds;
    }
    return tried.counts().seconds - first;
  }

  // The lengths to try, from the shortest.
  [[nodiscard]] std::vector<std::ptrdiff_t> lengths(std::span<const Loop> chain) const {
    std::vector<std::ptrdiff_t> all;
    for (int i = k_halvings; i >= 0; --i) {
      const auto fits = length_that_fits(chain, abouts_, std::ldexp(pair_.fast_bytes, -i));
      if (const auto length = std::max<std::ptrdiff_t>(fits, 1); all.empty() || all.back() != length)
        all.push_back(length);
    }
    return all;
  }

  // By the least time; where larger chunks leave room for none, the shortest.
  [[nodiscard]] std::ptrdiff_t best_length(std::span<const Loop> chain) {
    const auto [found, is_new] = lengths_.try_emplace(signature_of(chain), 1);
    if (!is_new) return found->second;
    std::optional<double> least;
    for (const auto length : lengths(chain)) {
      const auto takes = seconds(chain, length);
      if (takes && (!least || *takes < *least)) {
        least = takes;
        found->second = length;
      }
    }
    return found->second;
  }

  ChainBook::Way plan(std::span<const Loop> chain, bool is_reversed) {
    auto made = way(chain, best_length(chain), is_reversed, layout_);
    if (!made)
      throw Error(Code::invalid, format(Bytes{static_cast<std::uint64_t>(pair_.fast_bytes)}) +
                                     " have no room for a tile of " + std::to_string(chain.size()) + " loops");
    return std::move(*made);
  }

  Pair pair_;
  StreamLayout layout_;
  StreamLayout tried_;
  StreamRun run_;
  ModeOptions options_;
  std::vector<DatasetAbout> abouts_;
  std::map<std::vector<std::int64_t>, std::ptrdiff_t> lengths_;  // of chains that came before
  ChainBook book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                  true};
};

class StreamedVariant final : public ModeVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "streamed"; }
  [[nodiscard]] std::unique_ptr<Mode> make(const Pair& pair, const ModeOptions& options) const override {
    return std::make_unique<Streamed>(pair, options);
  }
};

}  // namespace

const ModeVariant& streamed_mode() {
  static const StreamedVariant variant;
  return variant;
}

}  // namespace terrace::stencil
