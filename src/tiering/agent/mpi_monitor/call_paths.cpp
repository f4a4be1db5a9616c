// SPDX-License-Identifier: Apache-2.0
// Unwinds the stacks of MPI calls by the C library's unwinder, and recognises stacks that were seen before. See
// call_paths.hpp.
#include "agent/mpi_monitor/call_paths.hpp"

#include <unwind.h>

#include <algorithm>
#include <array>

namespace terrace::agent {

namespace {

struct Frames {
  std::uint64_t call_site = 0;
  bool is_inside = true;  // of Terrace's own frames
  std::size_t count = 0;
  std::array<std::uint64_t, CallPaths::k_max_depth> addresses;
  std::array<std::uint64_t, CallPaths::k_max_depth> frames;  // canonical frame addresses
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* to) {
  auto& frames = *static_cast<Frames*>(to);
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (frames.is_inside && address != frames.call_site) return _URC_NO_REASON;
  frames.is_inside = false;
  if (address == 0 || frames.count == frames.addresses.size()) return _URC_END_OF_STACK;
  frames.addresses[frames.count] = address;
  frames.frames[frames.count++] = static_cast<std::uint64_t>(_Unwind_GetCFA(context));
  return _URC_NO_REASON;
}

}  // namespace

std::size_t CallPaths::HashOfSite::operator()(const Site& site) const noexcept {
  constexpr std::uint64_t k_odd = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio
  const auto code = reinterpret_cast<std::uint64_t>(site.call_site);
  const auto stack = reinterpret_cast<std::uint64_t>(site.frame);
  return static_cast<std::size_t>(((code ^ (stack * k_odd)) * k_odd) >> 16);
}

std::vector<CallPaths::Variant>& CallPaths::variants_at(const Site& site) {
  auto& recent = recent_[HashOfSite()(site) % recent_.size()];
  if (!recent.variants || recent.site != site) recent = {site, &sites_[site]};
  return *recent.variants;
}

std::optional<runtime::CallPath> CallPaths::find(const MpiCall& call) {
  auto& variants = variants_at({call.call_site, call.frame, call.function});
  for (const auto& one : variants) {
    const auto& addresses = paths_[one.path].addresses;
    const bool is_same =
        std::equal(one.slots.begin(), one.slots.end(), addresses.begin() + 1, addresses.end(),
                   [](const std::uint64_t* slot, std::uint64_t address) { return *slot == address; });
    if (is_same) return one.path;
  }
  return unwind(call, variants);
}

std::optional<runtime::CallPath> CallPaths::unwind(const MpiCall& call, std::vector<Variant>& variants) {
  Frames frames;
  frames.call_site = reinterpret_cast<std::uint64_t>(call.call_site);
  _Unwind_Backtrace(take_frame, &frames);
  const auto end = frames.addresses.begin() + static_cast<std::ptrdiff_t>(frames.count);
  std::pair key(call.function, std::vector<std::uint64_t>(frames.addresses.begin(), end));
  if (key.second.empty()) key.second.push_back(frames.call_site);  // the code has no unwind information
  const auto known = numbers_.find(key);
  if (known == numbers_.end() && paths_.size() == k_max_paths) return std::nullopt;
  const auto path = known != numbers_.end() ? known->second : static_cast<runtime::CallPath>(paths_.size());
  if (known == numbers_.end()) {
    paths_.push_back({call.function, key.second});
    numbers_.emplace(std::move(key), path);
  }
  // A frame's return address is directly below its canonical frame address on x86-64. Elsewhere it may be
  // anywhere, and each stack is unwound.
  Variant variant{path, {}};
  for (std::size_t i = 1; i < frames.count; ++i) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const slot = reinterpret_cast<const std::uint64_t*>(frames.frames[i]) - 1;
    if (slot < call.frame || *slot != frames.addresses[i]) return path;
    variant.slots.push_back(slot);
  }
  constexpr std::size_t k_max_variants = 16;
  if (variants.size() == k_max_variants) variants.clear();
  variants.push_back(std::move(variant));
  return path;
}

}  // namespace terrace::agent
