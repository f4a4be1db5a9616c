// SPDX-License-Identifier: Apache-2.0
// Implements the detection of dependent misses (pointer and index chases) for each thread's pipeline. See
// dependence.hpp.
#include "observe/cache/dependence.hpp"

#include <algorithm>

namespace terrace::observe {

void DependenceTracker::follow(std::uint64_t line, Level level) {
  lines_[next_line_++ % k_lines] = {line, level};
  hits_ = 0;
}

// Continues a chain through a line that was served without a demand miss, if its address depends on a kept value.
Level DependenceTracker::propagate(std::uint64_t line, std::uint64_t host, std::uint64_t canonical,
                                   std::uint64_t site) {
  Level level = followed_level(line);
  if (level != k_no_level) return level;
  level = match_pointer(host);
  if (level == k_no_level && sites_[slot(site)].site == site) level = match_index(canonical, sites_[slot(site)]);
  if (level != k_no_level) lines_[next_line_++ % k_lines] = {line, level};
  return level;
}

Level DependenceTracker::followed_level(std::uint64_t line) const {
  for (const Line& entry : lines_) {
    if (entry.line == line) return entry.level;
  }
  return k_no_level;
}

void DependenceTracker::on_load(std::uint64_t value, Level level) {
  // A value that is loaded repeatedly (a loop that polls one field) must not displace the others.
  const std::uint32_t last = (next_value_ - 1) % k_values;
  if (values_[last] == value && levels_[last] == level) return;
  const std::uint32_t at = next_value_++ % k_values;
  values_[at] = value;
  levels_[at] = level;
}

Level DependenceTracker::on_miss(std::uint64_t host, std::uint64_t canonical, std::uint64_t site) {
  if (const Level level = match_pointer(host); level != k_no_level) return level;
  Site& entry = sites_[slot(site)];
  if (entry.site != site) {
    entry = Site{};
    entry.site = site;
  }
  if (entry.scale == 0) {
    learn_law(canonical, entry);
    return k_no_level;
  }
  const Level level = match_index(canonical, entry);
  if (level != k_no_level) {
    entry.misfits = 0;
    entry.trust = std::min(entry.trust + 1, 2 * k_min_trust);
  } else {
    if (++entry.misfits > k_max_misfits) entry.scale = 0;
    entry.trust = std::max(entry.trust - 1, 0);
  }
  return entry.trust >= k_min_trust ? level : k_no_level;
}

// Returns the level of the nearest value below the address; of equal values, of the latest.
Level DependenceTracker::match_pointer(std::uint64_t host) const {
  std::uint64_t nearest = k_max_pointer_offset;
  Level level = k_no_level;
  for (std::uint32_t age = 1; age <= k_values; ++age) {
    const std::uint32_t at = (next_value_ - age) % k_values;
    const std::uint64_t distance = host - values_[at];
    if (distance < nearest) {
      nearest = distance;
      level = levels_[at];
    }
  }
  return level;
}

Level DependenceTracker::match_index(std::uint64_t canonical, const Site& site) const {
  const std::uint64_t offset = canonical - site.base;
  if (site.scale == 0 || offset % site.scale != 0) return k_no_level;
  // Signed division: an index may be negative.
  const auto value =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(offset) / static_cast<std::int64_t>(site.scale));
  for (std::uint32_t age = 1; age <= k_values; ++age) {
    const std::uint32_t at = (next_value_ - age) % k_values;
    if (values_[at] == value) return levels_[at];
  }
  return k_no_level;
}

// Searches the scale of an index: two misses of one instruction, and a value kept before each, whose differences
// are in that ratio.
void DependenceTracker::learn_law(std::uint64_t canonical, Site& site) {
  const std::uint32_t attempt = site.attempts++;
  if (attempt > k_max_attempts && attempt % 32 > 1) return;
  std::array<std::uint64_t, k_compared> recent;
  for (std::uint32_t i = 0; i < k_compared; ++i) recent[i] = values_[(next_value_ - 1 - i) % k_values];
  const std::uint64_t distance = canonical - site.last;
  const bool comparable = site.has_last && distance != 0 && distance % 4 == 0;
  const auto quarter = static_cast<std::uint64_t>(static_cast<std::int64_t>(distance) / 4);
  for (std::uint32_t i = 0; comparable && i < k_compared && site.scale == 0; ++i) {
    for (const std::uint64_t before : site.values) {
      const std::uint64_t step = recent[i] - before;
      if (step == 0) continue;
      std::uint32_t scale = 0;
      if (step == quarter) {
        scale = 4;
      } else if (2 * step == quarter) {
        scale = 8;
      } else if (4 * step == quarter) {
        scale = 16;
      }
      if (scale == 0) continue;
      site.scale = scale;
      site.base = canonical - scale * recent[i];
      site.misfits = 0;
      site.trust = 0;
      break;
    }
  }
  site.has_last = true;
  site.last = canonical;
  site.values = recent;
}

}  // namespace terrace::observe
