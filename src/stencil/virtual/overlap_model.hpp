// SPDX-License-Identifier: Apache-2.0
// Loops and copies that go on at a time, in virtual time, and what they take of the memories that they share.
//
// There are three lanes: loops, copies to the fast memory, copies back. In each, one piece of work comes after the
// other. Pieces of different lanes go on beside one another, at the rates that they have alone, as long as the
// memories have the bandwidth: copies both ways share that of the slow memory, and with loops that of the fast
// one. Where it is not enough, each gets the same share of what it would take alone. Where cores copy, the same
// ones copy both ways, and go at half their speed each way while there is something to copy both ways.
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

  // Each begins when all that its lane has before it has ended. A copy stalls loops when it begins, if any are
  // running or are next.
  void copy(Lane way, double bytes, const CopyPrice& price);
  // Loops over so many bytes, in so many pieces.
  void run(double bytes, double pieces);
  // So many copies from one part of the fast memory to another, between loops.
  void copy_within(double bytes, double copies);

  // Goes on until a piece of work ends; its lane, or nothing where there is no work.
  std::optional<Lane> advance();
  // Goes on until a lane has no work.
  void wait(Lane lane);
  [[nodiscard]] bool is_idle(Lane lane) const { return of(lane).empty(); }
  // Seconds since the beginning; those in which loops ran.
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] double loop_seconds() const { return loop_seconds_; }
  // Seconds in which anything was copied, one way or both; those of them in which loops ran, too, and were not
  // stalled.
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }
  [[nodiscard]] double hidden_seconds() const { return hidden_seconds_; }

 private:
  static constexpr std::size_t k_lanes = 3;
  struct Work {
    double stalled;  // seconds left, before anything else
    double seconds;  // left before the first byte
    double bytes;    // left
    double rate;     // alone
    bool is_loop;
    double stall;  // of loops, by a copy that has not begun
  };
  [[nodiscard]] std::deque<Work>& of(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] const std::deque<Work>& of(Lane lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  // Copies that begin now stall loops.
  void stall_loops();
  // What a lane's copy has of those who copy.
  [[nodiscard]] double share(std::size_t lane) const;
  // Bytes a second of what goes on now.
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
