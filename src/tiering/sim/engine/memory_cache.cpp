// SPDX-License-Identifier: Apache-2.0
// Looks up cache misses in fast memory that runs as a direct-mapped cache of slow memory, for VirtualMachine under
// `--planner cache-mode`. See memory_cache.hpp.
#include "sim/engine/memory_cache.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::sim {

MemoryCache::MemoryCache(const memory::ChunkTable& chunks, PlaceId fast, PlaceId slow, Bytes capacity, Bytes line)
    : chunks_(chunks), fast_(fast), slow_(slow), sets_(capacity.value / line.value), line_(line.value) {
  if (fast == slow)
    throw Error(Code::invalid,
                "cache-mode: the machine's fastest memory is also its largest; choose a --machine with two kinds "
                "of memory");
  if (sets_ == 0)
    throw Error(Code::invalid, "cache-mode: " + format(capacity) +
                                   " of fast memory do not hold a cache line; raise --fast or --budget");
}

std::uint64_t MemoryCache::address_of(const observe::Miss& miss) {
  for (auto chunk = first_line_.size(); chunk <= miss.chunk; ++chunk) {
    const auto lines = std::max<std::uint64_t>((chunks_[static_cast<ChunkId>(chunk)].size + line_ - 1) / line_, 1);
    if (lines > k_max_lines_per_cached_chunk)
      throw Error(Code::invalid, "cache-mode: the recording has a chunk of " + std::to_string(lines) +
                                     " lines, but a miss addresses only " +
                                     std::to_string(k_max_lines_per_cached_chunk) +
                                     "; simulate the program instead of replaying it");
    first_line_.push_back(lines_);
    lines_ += lines;
    ways_.resize(std::min(sets_, lines_));
  }
  const auto end = miss.chunk + 1 < first_line_.size() ? first_line_[miss.chunk + 1] : lines_;
  return first_line_[miss.chunk] + miss.line % (end - first_line_[miss.chunk]);
}

MemoryCache::Lookup MemoryCache::look_up(std::uint64_t address, bool write) {
  auto& way = ways_[address % sets_];
  const auto tag = static_cast<std::uint32_t>(address / sets_ + 1);
  const Lookup found{way.tag == tag, way.tag != tag && way.dirty};
  way.dirty = write || (found.hit && way.dirty);
  way.tag = tag;
  return found;
}

void MemoryCache::add_traffic(const observe::Quantum& quantum, const observe::PlaceView& view,
                              TimeLaw::Traffic& by_place) {
  for (const auto& miss : quantum.misses) {
    const auto place = miss.chunk == memory::k_no_chunk ? view.unowned() : view.place_of(chunks_[miss.chunk]);
    if (miss.chunk == memory::k_no_chunk || place != slow_) {
      by_place[place].add(miss.kind, 1, miss.weight);
      continue;
    }
    const bool write = miss.kind == observe::MissKind::writeback;
    const auto found = look_up(address_of(miss), write);
    by_place[fast_].add(miss.kind, 1, miss.weight);
    if (found.replaced_dirty) ++by_place[slow_].written;
    if (found.hit || write) continue;
    by_place[slow_].add(miss.kind, 1, miss.weight);
    ++by_place[fast_].written;
  }
}

}  // namespace terrace::sim
