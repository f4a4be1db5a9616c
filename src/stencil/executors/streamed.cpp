// Datasets in a file, in steps whose data are in memory, by tiles that are in the cache: for problems that are
// larger than the memory they may take.
#include <algorithm>
#include <map>
#include <memory>

#include "core/error.hpp"
#include "core/units.hpp"
#include "stencil/execute/in_memory.hpp"
#include "stencil/execute/tile_runner.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/chain_use.hpp"
#include "stencil/stream/chain_book.hpp"
#include "stencil/stream/file_stream.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_page = 4096;
constexpr std::size_t k_largest_chunk = std::size_t{2} << 20U;
constexpr std::size_t k_chunks = 512;  // that the memory has at least, where chunks of a page allow it
constexpr std::size_t k_shifts = 16;   // different beginnings, as in_memory has them
constexpr std::size_t k_line = 64;

std::size_t chunk_size(std::uint64_t memory) {
  auto chunk = k_largest_chunk;
  while (chunk > k_page && memory / chunk < k_chunks) chunk /= 2;
  return chunk;
}

class Streamed final : public Executor {
 public:
  Streamed(const Options& options, Statistics& statistics)
      : team_(threads_of(options)),
        given_(options.tile),
        memory_(options.memory),
        statistics_(statistics),
        layout_{chunk_size(options.memory), {}, {}},
        stream_(options.folder, options.memory, layout_.chunk, statistics) {}

  void add(const DatasetAbout& about) override {
    // Different for each, so that they do not share the sets of a cache.
    const auto shift = abouts_.size() % k_shifts * 3 * k_line;
    layout_.shift.push_back(std::min(shift, layout_.chunk / 2));
    layout_.is_temporary.push_back(about.is_temporary);
    abouts_.push_back(about);
    firsts_.push_back(stream_.add_dataset(about.name, layout_.chunks(about), about.is_temporary) +
                      layout_.shift.back());
  }

  void remove(DatasetId dataset) override { stream_.remove_dataset(dataset); }

  void run(std::span<const Loop> chain, Reductions& reductions) override {
    const auto [way, ahead] = book_.next(chain);
    std::vector<Running> all;
    for (const auto& loop : chain) {
      std::vector<View> views;
      for (const auto& argument : loop.arguments)
        views.push_back(abouts_[argument.dataset].view(firsts_[argument.dataset]));
      all.push_back(terrace::stencil::begin(loop, std::move(views), reductions));
    }
    stream_.begin(way->stream, ahead, way->moved);
    cut_ = {way->tiles.get(), way->stream, way->moved, outer_dimension(chain), layout_.chunk, stream_.frames()};
    for (std::size_t s = 0; s < way->stream->steps.size(); ++s) {
      stream_.wait_for(s);
      const auto& step = way->stream->steps[s];
      run_tiles(*way->tiles, all, team_, outer_dimension(chain), step.first_tile, step.last_tile);
      stream_.end_step(s);
    }
    statistics_.tiles += way->tiles->count();
    for (const auto& running : all) reductions.enter(*running.loop, running.partials);
  }

  [[nodiscard]] CutChain cut() const override { return cut_; }

  void get(DatasetId dataset, const Range& range, std::byte* numbers) override {
    const auto& about = abouts_[dataset];
    for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
      stream_.get(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, numbers + at);
    });
  }
  void set(DatasetId dataset, const Range& range, const std::byte* numbers) override {
    const auto& about = abouts_[dataset];
    for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
      stream_.set(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, numbers + at);
    });
  }

 private:
  ChainBook::Way plan(std::span<const Loop> chain, bool is_reversed) {
    ChainBook::Way way;
    auto size = given_;
    if (size == TileSize{}) size = model_size(chain, bytes_of_point(chain, abouts_), own_cache());
    // The outermost dimension is cut in any case.
    const auto outer = outer_dimension(chain);
    if (size[outer] == 0) size[outer] = k_default_tile;
    std::array<bool, k_most_dims> reversed{};
    reversed[outer] = outer > 0 && is_reversed;
    for (;;) {
      way.tiles = std::make_unique<TilePlan>(chain, size, reversed);
      std::size_t tiles = std::max<std::size_t>(way.tiles->tiles()[outer] / k_most_steps, 2 * team_.size());
      for (;; tiles = (tiles + 1) / 2) {
        way.stream = std::make_shared<StreamPlan>(plan_stream(chain, *way.tiles, outer, tiles, abouts_, layout_));
        if (way.stream->most_chunks <= stream_.frames() / 2 || tiles == 1) break;
      }
      if (way.stream->most_chunks <= stream_.frames()) {
        way.moved = std::make_shared<StreamMoves>(way.stream->steps.size() + 1);
        return way;
      }
      if (size[outer] == 1) break;
      size[outer] = (size[outer] + 1) / 2;
    }
    const auto needed = way.stream->most_chunks * layout_.chunk;
    throw Error(Code::invalid, "memory=" + format(Bytes{memory_}) + " is too little for a chain of " +
                                   std::to_string(chain.size()) + " loops, whose tiles need " +
                                   format(Bytes{needed}) +
                                   ": give more, or make chains shorter by Context::run()");
  }

  static constexpr std::ptrdiff_t k_default_tile = 16;
  static constexpr std::size_t k_most_steps = 256;

  Team team_;
  TileSize given_;
  std::uint64_t memory_;
  Statistics& statistics_;
  StreamLayout layout_;
  FileStream stream_;
  std::vector<DatasetAbout> abouts_;
  std::vector<std::byte*> firsts_;
  CutChain cut_;
  ChainBook book_{[this](std::span<const Loop> chain, bool is_reversed) { return plan(chain, is_reversed); },
                  true};
};

class StreamedVariant final : public ExecutorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "streamed"; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    if (options.memory < 64 * k_page)
      throw Error(Code::invalid, "executor=streamed needs memory=SIZE, " + format(Bytes{64 * k_page}) +
                                     " at least: how much of the datasets may be in memory");
    return std::make_unique<Streamed>(options, statistics);
  }
};

}  // namespace

const ExecutorVariant& streamed_executor() {
  static const StreamedVariant variant;
  return variant;
}

}  // namespace terrace::stencil
