// Three slots in the fast memory, as published: while a tile runs in one, the next tile's data come into another,
// and the last one's results leave the third; what two tiles share is copied from slot to slot. I. Reguly et al.,
// "Beyond 16GB: out-of-core stencil computations", MCHPC 2017, algorithm 1 and section 4.1.
#include <algorithm>

#include "core/error.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/outer_tiles.hpp"

namespace terrace::stencil {
namespace {

constexpr double k_slots = 3;

class Slots final : public Mode {
 public:
  Slots(const Pair& pair, const ModeOptions& options) : pair_(pair), options_(options) {}
  void add(const DatasetAbout& about) override { abouts_.push_back(about); }

  void run(std::span<const Loop> chain) override {
    const auto length = length_that_fits(chain, abouts_, pair_.fast_bytes / k_slots);
    if (length == 0)
      throw Error(Code::invalid, "a third of " + format(Bytes{static_cast<std::uint64_t>(pair_.fast_bytes)}) +
                                     " has no room for a tile of " + std::to_string(chain.size()) + " loops");
    const OuterTiles tiles(chain, abouts_, length);
    // Stream 0 runs loops, 1 brings, 2 stores; each is free again at its time.
    const auto first = coming(tiles, 0, true);
    counts_.bytes_in += first;
    if (!is_fetched_) upload_ = copy(std::max(run_, upload_), first, pair_.in_bandwidth);
    is_fetched_ = false;
    for (std::size_t t = 0; t < tiles.count(); ++t) {
      const auto is_last = t + 1 == tiles.count();
      const auto begin = std::max(run_, upload_);
      if (!is_last) {
        const auto bytes = coming(tiles, t + 1, false);
        counts_.bytes_in += bytes;
        upload_ = copy(begin, bytes, pair_.in_bandwidth);
      } else if (options_.is_prefetched) {
        // The next chain is taken to be like this one.
        upload_ = copy(begin, coming(tiles, 0, true), pair_.in_bandwidth);
        is_fetched_ = true;
      }
      const auto loops = pair_.loop_seconds(tiles.loop_bytes(t), tiles.pieces(t));
      counts_.loop_seconds += loops;
      counts_.accesses += tiles.loop_bytes(t);
      run_ = begin + loops;
      const auto finish = std::max(run_, store_);
      if (!is_last) run_ = finish + shared(tiles, t) / pair_.fast_bandwidth * 2;  // read and written
      const auto stored = leaving(tiles, t);
      counts_.bytes_out += stored;
      store_ = copy(finish, stored, pair_.out_bandwidth);
      counts_.tiles += 1;
    }
    counts_.seconds = std::max({run_, store_, is_fetched_ ? 0 : upload_});
    counts_.hits = counts_.accesses;
  }

 private:
  [[nodiscard]] double copy(double begin, double bytes, double bandwidth) const {
    return bytes > 0 ? begin + pair_.call + bytes / bandwidth : begin;
  }
  // What a tile needs of the slow memory: all, or without what it shares with the one before.
  [[nodiscard]] static double coming(const OuterTiles& tiles, std::size_t tile, bool is_all) {
    double bytes = 0;
    for (const auto& [dataset, stretch] : tiles.used(tile)) {
      if (tiles.use(dataset).needed.all().empty()) continue;  // written first
      auto own = stretch;
      if (!is_all && tile > 0)
        if (const auto before = tiles.used(tile - 1).find(dataset); before != tiles.used(tile - 1).end())
          own.begin = std::max(own.begin, before->second.end);
      bytes += tiles.bytes(dataset, own);
    }
    return bytes;
  }
  [[nodiscard]] double leaving(const OuterTiles& tiles, std::size_t tile) const {
    double bytes = 0;
    for (const auto& [dataset, stretch] : tiles.used(tile)) {
      const auto& use = tiles.use(dataset);
      if (use.written.all().empty()) continue;  // only read
      if (options_.is_cyclic && use.needed.all().empty()) continue;
      auto own = stretch;
      if (tile + 1 < tiles.count())
        if (const auto next = tiles.used(tile + 1).find(dataset); next != tiles.used(tile + 1).end())
          own.end = std::min(own.end, next->second.begin);
      bytes += tiles.bytes(dataset, own);
    }
    return bytes;
  }
  [[nodiscard]] static double shared(const OuterTiles& tiles, std::size_t tile) {
    double bytes = 0;
    for (const auto& [dataset, stretch] : tiles.used(tile)) {
      const auto next = tiles.used(tile + 1).find(dataset);
      if (next == tiles.used(tile + 1).end()) continue;
      bytes += tiles.bytes(dataset,
                           {std::max(stretch.begin, next->second.begin), std::min(stretch.end, next->second.end)});
    }
    return bytes;
  }

  Pair pair_;
  ModeOptions options_;
  std::vector<DatasetAbout> abouts_;
  double run_ = 0, upload_ = 0, store_ = 0;  // when each stream is free
  bool is_fetched_ = false;                  // the first tile's data, by the chain before
};

class SlotsVariant final : public ModeVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "slots"; }
  [[nodiscard]] std::unique_ptr<Mode> make(const Pair& pair, const ModeOptions& options) const override {
    return std::make_unique<Slots>(pair, options);
  }
};

}  // namespace

const ModeVariant& slots_mode() {
  static const SlotsVariant variant;
  return variant;
}

}  // namespace terrace::stencil
