#include "access/exposure.hpp"

namespace terrace::access {

void Exposure::close(std::span<backend::Miss> misses) {
  if (pending_.empty()) return;
  // The level grows by at most one a miss, so a share never exceeds 255.
  const std::uint64_t total = 255 * (highest_ - shared_out_);
  const std::uint64_t count = pending_.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t share = total / count + (i < total % count ? 1 : 0);
    misses[pending_[i]].weight = static_cast<std::uint8_t>(share);
  }
  shared_out_ = highest_;
  pending_.clear();
}

}  // namespace terrace::access
