// SPDX-License-Identifier: Apache-2.0
// Models the storage device of a backing file in virtual time, for VirtualSpill. A request waits until the device
// accepts it (at most BackingFile::requests at a time), then for the device's latency, then for its transfer.
// Requests in transfer share the device's bandwidth in equal parts, reads and writes alike.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::sim {

class VirtualDisk {
 public:
  explicit VirtualDisk(const machine::BackingFile& file) : file_(file) {}

  struct Completion {
    std::uint64_t token = 0;  // of the request
    Seconds at;
  };
  // Starts a request at `now`, or at the time up to which the device is already simulated, if that is later.
  void start(bool write, Bytes size, std::uint64_t token, Seconds now);
  // Returns when the next request completes if no other is started; empty if there is none.
  [[nodiscard]] std::optional<Seconds> next_end() const;
  // Returns the next request that has completed by `until`, in the order of completion; empty if there is none.
  std::optional<Completion> take_ended(Seconds until);
  // Returns the number of waiting and active requests.
  [[nodiscard]] std::size_t under_way() const { return waiting_.size() + active_.size(); }

 private:
  struct Request {
    std::uint64_t token = 0;
    double left = 0;   // seconds of device time
    double ready = 0;  // end of its latency
  };
  void advance(double to);
  void admit_waiting();
  // The next event if no request is started, and the number of requests that share the bandwidth until then.
  struct NextEvent {
    double at = 0;
    std::size_t sharing = 0;
  };
  [[nodiscard]] NextEvent next_event() const;

  machine::BackingFile file_;
  double time_ = 0;  // simulated up to here
  std::deque<Request> waiting_;
  std::vector<Request> active_;  // in the order of admission
  std::deque<Completion> ended_;
};

}  // namespace terrace::sim
