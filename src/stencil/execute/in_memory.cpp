// SPDX-License-Identifier: Apache-2.0
// Allocates and copies datasets in memory for the executors `serial`, `parallel` and `tiled`: anonymous memory, or
// shared mappings of files in `folder_` with paged=1, which the kernel can write back.
#include "stencil/execute/in_memory.hpp"

#include <algorithm>
#include <cstring>

#include "stencil/data/dataset_rows.hpp"
#include "stencil/data/free_memory.hpp"

namespace terrace::stencil {

void InMemory::add(const DatasetInfo& info) {
  // Mapped files need no free memory: the kernel writes their pages back to the disk under pressure.
  if (folder_.empty())
    need_memory("the dataset '" + info.name + "'", info.bytes(),
                "take executor=streamed,memory=SIZE, which has datasets in a file, or a smaller problem");
  memories_.emplace_back(info.name, info.bytes(), memories_.size(), folder_);
  infos_.push_back(info);
  // First touch by the thread that will use the part, if loops are split in the same way.
  auto* const first = memories_.back().first();
  const auto slabs = info.range.length(2) > 1 ? info.range.length(2) : info.range.length(1);
  const auto slab = info.bytes() / static_cast<std::size_t>(std::max<std::ptrdiff_t>(slabs, 1));
  team_.run([&](std::size_t number) {
    const auto of = static_cast<std::ptrdiff_t>(team_.size()), own = static_cast<std::ptrdiff_t>(number);
    const auto begin = slabs * own / of, end = slabs * (own + 1) / of;
    std::memset(first + static_cast<std::size_t>(begin) * slab, 0, static_cast<std::size_t>(end - begin) * slab);
  });
}

void InMemory::get(DatasetId dataset, const Range& range, std::byte* values) {
  copy_out(infos_[dataset], memories_[dataset].first(), range, values);
}

void InMemory::set(DatasetId dataset, const Range& range, const std::byte* values) {
  copy_in(infos_[dataset], memories_[dataset].first(), range, values);
}

// Adds a loop's run to the statistics by loop.
void InMemory::note(const Loop& loop, double seconds) {
  auto& of_loop = statistics_.by_loop[loop.name];
  ++of_loop.count;
  of_loop.bytes += bytes_of(loop);
  of_loop.seconds += seconds;
}

std::vector<View> InMemory::views(const Loop& loop) const {
  std::vector<View> views;
  for (const auto& argument : loop.arguments)
    views.push_back(infos_[argument.dataset].view(memories_[argument.dataset].first()));
  return views;
}

}  // namespace terrace::stencil
