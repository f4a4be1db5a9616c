#include "tracer/hierarchy.hpp"

#include <bit>
#include <string>

#include "core/error.hpp"

namespace terrace::tracer {

Hierarchy::Hierarchy(const observe::PipelineConfig& config) : config_(config), levels_(config.caches.size()) {
  if (!std::has_single_bit(config.line.value))
    throw Error(Code::invalid,
                "a cache line of " + std::to_string(config.line.value) + " bytes: it must be a power of two");
  for (const auto& cache : config.caches) {
    if (cache.shared) {
      shared_.emplace_back(cache.size, cache.ways, config.line);
    } else if (shared_.empty()) {
      ++private_levels_;
    } else {
      throw Error(Code::invalid, "cache " + cache.name + " is private and lies behind a shared one");
    }
  }
  victims_.resize(levels_);
}

void Hierarchy::add_thread(std::uint32_t thread) {
  if (thread >= own_.size()) own_.resize(thread + 1);
  for (const auto& cache : config_.caches)
    if (!cache.shared) own_[thread].emplace_back(cache.size, cache.ways, config_.line);
}

bool Hierarchy::access(std::uint32_t thread, std::uint64_t line, bool store) {
  if (private_levels_ > 0 && (thread >= own_.size() || own_[thread].empty())) [[unlikely]]
    add_thread(thread);
  std::size_t found = 0;
  for (; found < levels_; ++found) {
    // A line is dirty where it was written: in the first cache.
    const auto outcome = level_of(thread, found).access(line, store && found == 0 ? observe::word::k_dirty : 0);
    if (outcome.hit) break;
    victims_[found] = outcome.victim;
  }
  for (std::size_t level = 0; level < found; ++level)
    if ((victims_[level] & observe::word::k_dirty) != 0)
      write_out(thread, level + 1, observe::word::line(victims_[level]));
  if (found < levels_) return false;
  ++fetched_;
  return true;
}

void Hierarchy::write_out(std::uint32_t thread, std::size_t level, std::uint64_t line) {
  for (; level < levels_; ++level) {
    const auto victim = level_of(thread, level).write_back(line).victim;
    if ((victim & observe::word::k_dirty) == 0) return;
    line = observe::word::line(victim);
  }
  ++written_;
}

}  // namespace terrace::tracer
