// See in_memory.hpp.
#include "stencil/execute/in_memory.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "core/unknown_name.hpp"
#include "stencil/data/free_memory.hpp"

namespace terrace::stencil {
void copy_out(const DatasetAbout& about, const std::byte* first, const Range& range, std::byte* numbers) {
  for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(numbers + at, first + offset, size);
  });
}

void copy_in(const DatasetAbout& about, std::byte* first, const Range& range, const std::byte* numbers) {
  for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(first + offset, numbers + at, size);
  });
}

int threads_of(const Options& options) {
  if (options.threads > 0) return static_cast<int>(options.threads);
  if (const auto* const given = std::getenv("OMP_NUM_THREADS"))
    if (const auto count = std::atoi(given); count > 0) return count;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

const ExecutorVariant& find_executor(std::string_view name) { return find_named("executor", name, executors()); }

void Executor::transfer(const BlockTransfer& transfer) {
  carry_out(
      transfer, transfer.to_range,
      [this](DatasetId dataset, const Range& range, std::byte* numbers) { get(dataset, range, numbers); },
      [this](DatasetId dataset, const Range& range, const std::byte* numbers) { set(dataset, range, numbers); });
}

void InMemory::add(const DatasetAbout& about) {
  if (folder_.empty())
    need_memory("the dataset '" + about.name + "'", about.bytes(),
                "take executor=streamed,memory=SIZE, which has datasets in a file, or a smaller problem");
  memories_.emplace_back(about.name, about.bytes(), memories_.size(), folder_);
  abouts_.push_back(about);
  // Touched by the thread that will use it, if loops are split in the same way.
  auto* const first = memories_.back().first();
  const auto slabs = about.range.length(2) > 1 ? about.range.length(2) : about.range.length(1);
  const auto slab = about.bytes() / static_cast<std::size_t>(std::max<std::ptrdiff_t>(slabs, 1));
  team_.run([&](std::size_t number) {
    const auto of = static_cast<std::ptrdiff_t>(team_.size()), own = static_cast<std::ptrdiff_t>(number);
    const auto begin = slabs * own / of, end = slabs * (own + 1) / of;
    std::memset(first + static_cast<std::size_t>(begin) * slab, 0, static_cast<std::size_t>(end - begin) * slab);
  });
}

void InMemory::get(DatasetId dataset, const Range& range, std::byte* numbers) {
  copy_out(abouts_[dataset], memories_[dataset].first(), range, numbers);
}

void InMemory::set(DatasetId dataset, const Range& range, const std::byte* numbers) {
  copy_in(abouts_[dataset], memories_[dataset].first(), range, numbers);
}

void InMemory::note(const Loop& loop, double seconds) {
  auto& of_loop = statistics_.by_loop[loop.name];
  ++of_loop.count;
  of_loop.bytes += bytes_of(loop);
  of_loop.seconds += seconds;
}

std::vector<View> InMemory::views(const Loop& loop) const {
  std::vector<View> views;
  for (const auto& argument : loop.arguments)
    views.push_back(abouts_[argument.dataset].view(memories_[argument.dataset].first()));
  return views;
}

Running begin(const Loop& loop, std::vector<View> views, const Reductions& reductions) {
  Running running{&loop, std::move(views), reductions.partials(loop), {}};
  for (auto& partial : running.partials) running.partial_addresses.push_back(partial.data());
  return running;
}

}  // namespace terrace::stencil
