// SPDX-License-Identifier: Apache-2.0
// Simulates the caches of a machine without time, as the filter of `terrace lab misses`. See hierarchy.hpp.
#include "tracer/hierarchy.hpp"

#include <bit>
#include <string>

#include "core/error.hpp"

namespace terrace::tracer {

Hierarchy::Hierarchy(const Caches& caches) : caches_(caches), levels_(caches.levels.size()) {
  if (!std::has_single_bit(caches.line.value))
    throw Error(Code::invalid,
                "a cache line of " + std::to_string(caches.line.value) + " bytes: it must be a power of two");
  for (const auto& cache : caches.levels) {
    if (cache.shared) {
      shared_.emplace_back(cache.size, cache.ways, caches.line);
    } else if (shared_.empty()) {
      ++private_levels_;
    } else {
      throw Error(Code::invalid,
                  "cache " + cache.name + " is private and lies behind a shared one; state private caches first");
    }
  }
  written_out_.resize(levels_);
}

void Hierarchy::add_thread(std::uint32_t thread) {
  if (thread >= own_.size()) own_.resize(thread + 1);
  for (const auto& cache : caches_.levels)
    if (!cache.shared) own_[thread].emplace_back(cache.size, cache.ways, caches_.line);
}

// Searches the levels from the core outwards. Fills all levels that missed, and writes their dirty victims out.
bool Hierarchy::access(std::uint32_t thread, std::uint64_t line, bool store) {
  if (private_levels_ > 0 && (thread >= own_.size() || own_[thread].empty())) [[unlikely]]
    add_thread(thread);
  std::size_t found = 0;
  for (; found < levels_; ++found) {
    // A line is dirty where it was written: in the first cache.
    const auto outcome = level_of(thread, found).access(line, store && found == 0);
    if (outcome.hit) break;
    written_out_[found] = outcome.written_out;
  }
  for (std::size_t level = 0; level < found; ++level)
    if (written_out_[level]) write_out(thread, level + 1, *written_out_[level]);
  if (found < levels_) return false;
  ++fetched_;
  return true;
}

// Writes a dirty line to the level, and victims of that further out.
void Hierarchy::write_out(std::uint32_t thread, std::size_t level, std::uint64_t line) {
  for (; level < levels_; ++level) {
    const auto next = level_of(thread, level).write_back(line).written_out;
    if (!next) return;
    line = *next;
  }
  ++written_;
}

}  // namespace terrace::tracer
