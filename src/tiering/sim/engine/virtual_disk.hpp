// A file's device in virtual time. A request waits until the device takes it, then for the device's latency, then
// for its bytes; the requests whose bytes are under way share the device's time in equal parts, reads and writes
// alike.
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

  struct Ended {
    std::uint64_t token = 0;  // of who asked
    Seconds at;
  };
  // At `now`, or where the device has been followed further than that, there.
  void start(bool write, Bytes size, std::uint64_t token, Seconds now);
  // When the next request ends if no other is started; nothing while none is under way.
  [[nodiscard]] std::optional<Seconds> next_end() const;
  // The requests that have ended by then, in that order.
  std::optional<Ended> take_ended(Seconds until);
  // Waiting ones included.
  [[nodiscard]] std::size_t under_way() const { return waiting_.size() + active_.size(); }

 private:
  struct Request {
    std::uint64_t token = 0;
    double left = 0;   // seconds of the device's time
    double ready = 0;  // when its latency is over
  };
  void advance(double to);
  void take_waiting();
  // When something happens next if nothing new is started, and how many requests share the device until then.
  struct Next {
    double at = 0;
    std::size_t sharing = 0;
  };
  [[nodiscard]] Next next() const;

  machine::BackingFile file_;
  double time_ = 0;  // followed up to here
  std::deque<Request> waiting_;
  std::vector<Request> active_;  // in the order in which they were taken
  std::deque<Ended> ended_;
};

}  // namespace terrace::sim
