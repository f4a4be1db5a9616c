// SPDX-License-Identifier: Apache-2.0
// Simulates the storage device of a backing file event by event, for VirtualSpill. See virtual_disk.hpp.
#include "sim/engine/virtual_disk.hpp"

#include <algorithm>
#include <limits>

namespace terrace::sim {

void VirtualDisk::start(bool write, Bytes size, std::uint64_t token, Seconds now) {
  advance(now.value);
  const auto bytes = static_cast<double>(size.value);
  waiting_.push_back({token, bytes / (write ? file_.write : file_.read).value, 0});
  admit_waiting();
}

void VirtualDisk::admit_waiting() {
  for (; !waiting_.empty() && active_.size() < file_.requests; waiting_.pop_front()) {
    active_.push_back(waiting_.front());
    active_.back().ready = time_ + file_.latency.value;
  }
}

VirtualDisk::NextEvent VirtualDisk::next_event() const {
  NextEvent next{std::numeric_limits<double>::infinity(), 0};
  auto least = next.at;
  for (const auto& request : active_) {
    if (request.ready > time_) {
      next.at = std::min(next.at, request.ready);
      continue;
    }
    ++next.sharing;
    least = std::min(least, request.left);
  }
  if (next.sharing > 0) next.at = std::min(next.at, time_ + least * static_cast<double>(next.sharing));
  return next;
}

void VirtualDisk::advance(double to) {
  while (to > time_) {
    const auto [at, sharing] = next_event();
    const auto until = std::min(at, to);
    const auto each = sharing > 0 ? (until - time_) / static_cast<double>(sharing) : 0;
    // Rounding leaves less than any request takes, or less than the clock can resolve: that counts as complete.
    constexpr double k_nothing = 1e-15;
    const auto is_over = [&](double left) { return left <= k_nothing || time_ + left <= time_; };
    for (auto& request : active_)
      if (request.ready <= time_) request.left = std::max(request.left - each, 0.0);
    time_ = until;
    std::erase_if(active_, [&](const Request& request) {
      if (request.ready > time_ || !is_over(request.left)) return false;
      ended_.push_back({request.token, {time_}});
      return true;
    });
    admit_waiting();
  }
}

std::optional<Seconds> VirtualDisk::next_end() const {
  if (!ended_.empty()) return ended_.front().at;
  if (active_.empty()) return {};
  auto copy = *this;
  while (copy.ended_.empty()) copy.advance(copy.next_event().at);
  return copy.ended_.front().at;
}

std::optional<VirtualDisk::Completion> VirtualDisk::take_ended(Seconds until) {
  if (ended_.empty()) advance(until.value);
  if (ended_.empty() || ended_.front().at > until) return {};
  const auto ended = ended_.front();
  ended_.pop_front();
  return ended;
}

}  // namespace terrace::sim
