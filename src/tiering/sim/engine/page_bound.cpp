// SPDX-License-Identifier: Apache-2.0
// Counts how many intervals between accesses to a page can stay in memory, for the lower bound of file traffic
// that VirtualSpill reports. See page_bound.hpp.
#include "sim/engine/page_bound.hpp"

#include <algorithm>

namespace terrace::sim {

namespace {

constexpr std::uint64_t k_page_bytes = 4096;

}  // namespace

void PageBound::grow(std::uint32_t page) {
  if (page < has_content_.size()) return;
  const auto size = std::max<std::size_t>(page + std::size_t{1}, 2 * has_content_.size());
  has_content_.resize(size, false);
  is_stored_.resize(size, false);
  touches_.last.resize(size, 0);
  stores_.last.resize(size, 0);
}

// Reserves capacity for an interval from moment `from` until now. Returns false, without change, if a moment is
// full.
bool PageBound::try_keep(Residency& kind, std::uint32_t from) {
  const auto first = from > begun_ ? from - begun_ : 0;
  for (auto i = kind.at.size(); i-- > first;)
    if (kind.at[i] >= capacity_[i]) return false;
  for (auto i = kind.at.size(); i-- > first;) ++kind.at[i];
  return true;
}

void PageBound::add_moment(std::uint64_t capacity) {
  since_ = 0;
  capacity_.push_back(capacity);
  touches_.at.push_back(0);
  stores_.at.push_back(0);
}

void PageBound::touch(std::uint32_t page, std::uint64_t capacity) {
  grow(page);
  // A repeated access before the next moment: whether the page stayed is not checked.
  if (has_content_[page] && !capacity_.empty() && touches_.last[page] == begun_ + capacity_.size()) return;
  if (capacity_.size() >= k_max_moments) end_segment();
  if (capacity_.empty() || since_ >= capacity / k_moments) add_moment(capacity);
  ++since_;
  if (has_content_[page] && !try_keep(touches_, touches_.last[page])) least_.read += Bytes{k_page_bytes};
  has_content_[page] = true;
  touches_.last[page] = begun_ + static_cast<std::uint32_t>(capacity_.size());
}

void PageBound::store(std::uint32_t page, bool late) {
  grow(page);
  if (!is_stored_[page]) {
    is_stored_[page] = true;
    stored_.push_back(page);
  } else if (!late && !try_keep(stores_, stores_.last[page])) {
    least_.written += Bytes{k_page_bytes};
  }
  stores_.last[page] = begun_ + static_cast<std::uint32_t>(capacity_.size());
}

void PageBound::forget(std::uint32_t first, std::uint32_t count) {
  for (auto page = first; page < first + count && page < has_content_.size(); ++page)
    has_content_[page] = is_stored_[page] = false;
}

PageBound::Traffic PageBound::end_segment() {
  ++segments_;
  std::erase_if(stored_, [&](std::uint32_t page) { return !is_stored_[page]; });
  // Intervals that end together are taken by length, the shortest first. A page that was freed and stored to again
  // is in the list twice.
  std::ranges::sort(stored_, [&](std::uint32_t one, std::uint32_t other) {
    return stores_.last[one] != stores_.last[other] ? stores_.last[one] > stores_.last[other] : one < other;
  });
  if (!capacity_.empty() && !stored_.empty()) add_moment(capacity_.back());
  for (const auto page : stored_) {
    if (is_stored_[page] && !try_keep(stores_, stores_.last[page])) least_.written += Bytes{k_page_bytes};
    is_stored_[page] = false;
  }
  stored_.clear();
  begun_ += static_cast<std::uint32_t>(capacity_.size());
  capacity_.clear();
  touches_.at.clear();
  stores_.at.clear();
  since_ = 0;
  return least_;
}

}  // namespace terrace::sim
