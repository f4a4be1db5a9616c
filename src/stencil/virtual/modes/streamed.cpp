// Data in the slow memory, streamed: the same scheduler of chunks that streams from files decides here; the
// copies, the loops and the time are virtual. Copies each way go one after the other, beside the loops.
#include <algorithm>
#include <deque>
#include <memory>

#include "core/error.hpp"
#include "stencil/stream/chain_book.hpp"
#include "stencil/stream/scheduler.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_frames = 2048;  // into which the fast memory is divided
constexpr std::size_t k_moves = 16;     // under way at a time, as with files
constexpr double k_tile_share = 8;      // of the fast memory, a tile at the most

class Streamed final : public Mode {
 public:
  Streamed(const Pair& pair, const ModeOptions& options)
      : pair_(pair),
        layout_{std::max<std::size_t>(static_cast<std::size_t>(pair.fast_bytes) / k_frames, 4096), {}, {}},
        scheduler_(static_cast<std::size_t>(pair.fast_bytes) / layout_.chunk, k_moves),
        frames_(static_cast<std::size_t>(pair.fast_bytes) / layout_.chunk),
        options_(options) {}

  void add(const DatasetAbout& about) override {
    layout_.shift.push_back(0);
    layout_.is_temporary.push_back(about.is_temporary && options_.is_cyclic);
    abouts_.push_back(about);
    scheduler_.add_dataset(layout_.chunks(about), layout_.is_temporary.back());
  }

  void run(std::span<const Loop> chain) override {
    const auto [way, ahead] = book_.next(chain);
    scheduler_.begin(way->stream, options_.is_prefetched ? ahead : nullptr);
    for (std::size_t s = 0; s < way->stream->steps.size(); ++s) {
      begin_moves();
      while (!scheduler_.is_ready(s)) pass_to(next_end());
      const auto& step = way->stream->steps[s];
      const auto end = now_ + loop_seconds(chain, *way->tiles, step);
      counts_.loop_seconds += end - now_;
      while (next_end() <= end) pass_to(next_end());
      now_ = end;
      scheduler_.end_step(s);
      counts_.tiles += static_cast<double>(step.last_tile - step.first_tile);
    }
    begin_moves();
    counts_.seconds = now_;
    counts_.hits = counts_.accesses;
  }

 private:
  struct Move {
    StreamAction action;
    double end;
  };

  [[nodiscard]] double next_end() const {
    auto end = std::numeric_limits<double>::infinity();
    for (const auto* lane : {&coming_, &leaving_})
      if (!lane->empty()) end = std::min(end, lane->front().end);
    return end;
  }
  // What ends until then has ended.
  void pass_to(double time) {
    if (time == std::numeric_limits<double>::infinity())
      throw Error(Code::failed, "streaming stands still: a step waits for what nobody brings");
    now_ = std::max(now_, time);
    for (auto* lane : {&coming_, &leaving_})
      while (!lane->empty() && lane->front().end <= now_) {
        scheduler_.done(lane->front().action);
        lane->pop_front();
      }
    begin_moves();
  }
  void begin_moves() {
    using What = StreamAction::What;
    while (const auto action = scheduler_.next()) {
      const auto is_store = action->what == What::store;
      auto& lane = is_store ? leaving_ : coming_;
      const auto is_copied = is_store || action->what == What::fetch;
      const auto bytes = is_copied ? static_cast<double>(layout_.chunk) : 0;
      (is_store ? counts_.bytes_out : counts_.bytes_in) += bytes;
      const auto begin = lane.empty() ? now_ : lane.back().end;
      lane.push_back(
          {*action, begin + pair_.call + bytes / (is_store ? pair_.out_bandwidth : pair_.in_bandwidth)});
    }
  }
  double loop_seconds(std::span<const Loop> chain, const TilePlan& tiles, const StreamStep& step) {
    const auto outer = outer_dimension(chain);
    double seconds = 0;
    for (auto t = step.first_tile; t < step.last_tile; ++t)
      for (std::size_t l = 0; l < chain.size(); ++l) {
        std::array<std::size_t, k_most_dims> tile{0, 0, 0};
        tile[outer] = t;
        const auto part = tiles.part(l, tile);
        if (part.empty()) continue;
        const auto bytes =
            bytes_of(chain[l]) * static_cast<double>(part.points()) / static_cast<double>(chain[l].range.points());
        counts_.accesses += bytes;
        seconds += pair_.loop_seconds(bytes);
      }
    return seconds;
  }

  ChainBook::Way plan(std::span<const Loop> chain, bool is_reversed) {
    const auto outer = outer_dimension(chain);
    auto length = length_that_fits(chain, abouts_, pair_.fast_bytes / k_tile_share);
    if (length == 0) length = 1;
    for (;; length = (length + 1) / 2) {
      std::array<std::ptrdiff_t, k_most_dims> size{0, 0, 0};
      std::array<bool, k_most_dims> reversed{false, false, false};
      size[outer] = length;
      reversed[outer] = is_reversed;
      ChainBook::Way way;
      way.tiles = std::make_unique<TilePlan>(chain, size, reversed);
      way.stream = std::make_shared<StreamPlan>(plan_stream(chain, *way.tiles, outer, 1, abouts_, layout_));
      if (way.stream->most_chunks <= frames_ / 2 || (length == 1 && way.stream->most_chunks <= frames_))
        return way;
      if (length == 1) break;
    }
    throw Error(Code::invalid, format(Bytes{static_cast<std::uint64_t>(pair_.fast_bytes)}) +
                                   " have no room for a tile of " + std::to_string(chain.size()) + " loops");
  }

  Pair pair_;
  StreamLayout layout_;
  StreamScheduler scheduler_;
  std::size_t frames_;
  ModeOptions options_;
  std::vector<DatasetAbout> abouts_;
  ChainBook book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                  true};
  std::deque<Move> coming_;
  std::deque<Move> leaving_;
  double now_ = 0;
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
