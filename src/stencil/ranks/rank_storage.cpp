// SPDX-License-Identifier: Apache-2.0
// Allocates a rank's part of each dataset in the inner executor, and reallocates it when a chain uses a larger
// range. Called by Distributed.
#include "stencil/ranks/rank_storage.hpp"

#include <cstring>

#include "stencil/data/slabs.hpp"

namespace terrace::stencil {

void RankStorage::add(const DatasetInfo& whole, const Range& own) {
  all_.push_back({whole, own, !whole.is_temporary || !whole.kept.empty()});
}

void RankStorage::provide(DatasetId dataset, const Range& range) {
  auto& one = all_[dataset];
  auto wanted = hull(one.own, range);
  if (wanted.empty() || (one.is_there && one.part.range.contains(wanted))) return;
  if (one.is_there) wanted = hull(wanted, one.part.range);
  auto part = one.whole;
  part.id = next_++;
  part.range = wanted;
  part.row = padded_row(wanted.length(0), part.element);
  part.plane = part.row * wanted.length(1);
  part.is_temporary = !one.is_kept;
  executor_.add(part);
  if (one.is_there) {
    if (one.is_kept && one.version > 0) copy(one.part, part);
    executor_.remove(one.part.id);
  }
  one.part = std::move(part);
  one.is_there = true;
}

void RankStorage::keep(DatasetId dataset) {
  auto& one = all_[dataset];
  if (one.is_kept) return;
  one.is_kept = true;
  if (!one.is_there) return;
  // Its values do not outlive the previous chain: no copy.
  executor_.remove(one.part.id);
  one.is_there = false;
}

void RankStorage::copy(const DatasetInfo& from, const DatasetInfo& to) {
  std::vector<std::byte> values;
  for_slabs(from.range, k_slab / from.element, [&](const Range& slab) {
    values.resize(slab.points() * from.element);
    executor_.get(from.id, slab, values.data());
    executor_.set(to.id, slab, values.data());
  });
}

void RankStorage::get(DatasetId dataset, const Range& range, std::byte* values) {
  const auto& one = all_[dataset];
  if (one.is_there)
    executor_.get(one.part.id, range, values);
  else
    std::memset(values, 0, range.points() * one.whole.element);
}

void RankStorage::set(DatasetId dataset, const Range& range, const std::byte* values) {
  executor_.set(all_[dataset].part.id, range, values);
}

}  // namespace terrace::stencil
