// SPDX-License-Identifier: Apache-2.0
// Maps reallocated objects to canonical addresses of freed ones, which it keeps as a stack for each name. Used by
// Program. See address_reuse.hpp.
#include "runtime/address_reuse.hpp"

#include <algorithm>

namespace terrace::runtime {

std::uint64_t AddressReuse::on_alloc(std::string_view name, std::uint64_t canonical, Bytes size) {
  const auto found = freed_.find(std::string(name));
  if (found == freed_.end()) return canonical;
  auto& freed = found->second;
  const auto is_like = [&](const FreedObject& one) { return one.size <= 2 * size && size <= 2 * one.size; };
  const auto last = std::find_if(freed.rbegin(), freed.rend(), is_like);
  if (last == freed.rend()) return canonical;
  const auto representative = last->representative;
  freed.erase(std::next(last).base());
  return representative;
}

void AddressReuse::on_free(std::string_view name, std::uint64_t representative, Bytes size) {
  auto& freed = freed_[std::string(name)];
  if (freed.size() == k_max_freed) freed.erase(freed.begin());
  freed.push_back({representative, size});
}

}  // namespace terrace::runtime
