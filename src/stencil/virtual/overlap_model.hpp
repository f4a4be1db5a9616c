// SPDX-License-Identifier: Apache-2.0
// Models the overlap of loops and copies in virtual time, and their contention for memory bandwidth. Used by the
// modes `slots` and `streamed`.
//
// There are three lanes: loops, copies to the fast memory, and copies back. Work in one lane is serial; work of
// different lanes proceeds concurrently. Each piece has its stand-alone rate as long as bandwidth suffices:
// copies in both directions share the slow memory, and together with loops the fast one. If a memory is
// oversubscribed, all are slowed down by the same factor. Where cores copy, the same cores copy in both
// directions, and run at half speed in each direction while both lanes have work.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "stencil/virtual/two_tier_machine.hpp"

namespace terrace::stencil {

class OverlapModel {
 public:
  enum class Lane : std::uint8_t { loops, in, out };

  explicit OverlapModel(const TwoTierMachine& tiers) : tiers_(tiers) {}

  // Queues a copy. Work begins when all earlier work of its lane has ended. A copy stalls loops for
  // `price.stall` when it begins, if loops are running or are next.
  void copy(Lane way, double bytes, const CopyPrice& price);
  // Queues loops over `bytes`, in `pieces` launches.
  void run(double bytes, double pieces);
  // Queues `copies` copies within the fast memory, in the lane of loops.
  void copy_within(double bytes, double copies);

  // Advances time until a piece of work ends. Returns its lane, or nothing if all lanes are idle.
  std::optional<Lane> advance();
  // Advances time until the lane is idle.
  void wait(Lane lane);
  [[nodiscard]] bool is_idle(Lane lane) const { return of(lane).empty(); }
  // Returns the current time, and the time in which loops ran, in seconds.
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] double loop_seconds() const { return loop_seconds_; }
  // Returns the time in which anything was copied, and the part of it in which loops also ran without a stall,
  // in seconds.
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }
  [[nodiscard]] double hidden_seconds() const { return hidden_seconds_; }

 private:
  static constexpr std::size_t k_lanes = 3;
  struct Work {
    double stalled;  // seconds of stall left, served first
    double seconds;  // seconds of start-up left
    double bytes;    // bytes left
    double rate;     // bytes/s without contention
    bool is_loop;
    double stall;  // for loops: stall by a copy that has not begun
  };
  [[nodiscard]] std::deque<Work>& of(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] const std::deque<Work>& of(Lane lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  // Stalls loops by the copies that begin now.
  void stall_loops();
  // Returns the share of the copying threads that a lane's copy has.
  [[nodiscard]] double share(std::size_t lane) const;
  // Returns the current rates in bytes/s.
  [[nodiscard]] std::array<double, k_lanes> rates() const;
  void count(double seconds);

  TwoTierMachine tiers_;
  std::array<std::deque<Work>, k_lanes> lanes_;
  double now_ = 0;
  double loop_seconds_ = 0;
  double copy_seconds_ = 0;
  double hidden_seconds_ = 0;
};

}  // namespace terrace::stencil
