// See streamed_data.hpp.
#include "stencil/stream/streamed_data.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "stencil/execute/in_memory.hpp"
#include "stencil/stream/shortened.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_chunks = 512;  // that the memory has at least, where the smallest ones allow it

}  // namespace

std::size_t chunk_size(std::uint64_t memory, std::size_t largest, std::size_t smallest) {
  auto chunk = largest;
  while (chunk > smallest && memory / chunk < k_chunks) chunk /= 2;
  return chunk;
}

StreamedData::StreamedData(std::unique_ptr<StreamPlaces> places, std::uint64_t memory, Statistics& statistics)
    : memory_(memory),
      statistics_(statistics),
      stream_(std::move(places), statistics),
      layout_{stream_.chunk(), {}, {}} {}

void StreamedData::add(const DatasetAbout& about) {
  layout_.shift.push_back(shift_in_page(abouts_.size()));
  layout_.is_temporary.push_back(about.is_temporary);
  abouts_.push_back(about);
  firsts_.push_back(stream_.add_dataset(about.name, kept_chunks(about, layout_)) + layout_.shift.back());
}

void StreamedData::get(DatasetId dataset, const Range& range, std::byte* numbers) {
  for_rows(abouts_[dataset], range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    stream_.get(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, numbers + at);
  });
}

void StreamedData::set(DatasetId dataset, const Range& range, const std::byte* numbers) {
  for_rows(abouts_[dataset], range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    stream_.set(dataset, layout_.shift[dataset] + static_cast<std::size_t>(offset), size, numbers + at);
  });
}

std::vector<View> StreamedData::views(const Loop& loop) const {
  std::vector<View> views;
  for (const auto& argument : loop.arguments)
    views.push_back(abouts_[argument.dataset].view(firsts_[argument.dataset]));
  return views;
}

std::shared_ptr<StreamPlan> StreamedData::plan_steps(std::span<const Loop> chain, const TilePlan& tiles,
                                                     std::size_t outer, std::size_t tiles_in_step) const {
  return std::make_shared<StreamPlan>(plan_stream(chain, tiles, outer, tiles_in_step, abouts_, layout_));
}

void StreamedData::begin(const ChainBook::Way& way, std::shared_ptr<const StreamPlan> ahead, std::size_t outer) {
  stream_.begin(way.stream, std::move(ahead), way.moved);
  cut_ = {way.tiles.get(), way.stream, way.moved, outer, layout_.chunk, stream_.frames()};
}

void StreamedData::refuse(std::span<const Loop> chain, const StreamPlan& plan) const {
  throw NoRoom("memory=" + format(Bytes{memory_}) + " is too little for a chain of " +
               std::to_string(chain.size()) + " loops, whose tiles need " +
               format(Bytes{plan.most_chunks * layout_.chunk}) +
               ": give more, or make chains shorter by Context::run()");
}

}  // namespace terrace::stencil
