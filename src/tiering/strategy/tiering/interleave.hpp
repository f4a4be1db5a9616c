// SPDX-License-Identifier: Apache-2.0
// Interleaves chunks round robin over the places of their domain, in allocation order. A chunk for a full place is
// allocated at home. Uses no traffic, and nothing moves. The kernel interleaves pages, Terrace chunks. Used by the
// variants interleave and weighted-interleave.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {

// Returns Linux's interleave weights for these bandwidths (mm/mempolicy.c, reduce_interleave_weights, since 6.16;
// weighted interleave itself came with 6.9, with weights set by hand): each node's share of 32, at least 1,
// divided by their greatest common divisor.
std::vector<std::uint32_t> interleave_weights(std::span<const double> bandwidths);

// Cycles through the places; each is returned as often in a row as its weight.
class RoundRobin {
 public:
  RoundRobin(std::vector<PlaceId> places, std::vector<std::uint32_t> weights)
      : places_(std::move(places)), weights_(std::move(weights)) {}
  PlaceId next() {
    if (given_ == weights_[at_]) {
      at_ = (at_ + 1) % places_.size();
      given_ = 0;
    }
    ++given_;
    return places_[at_];
  }

 private:
  std::vector<PlaceId> places_;
  std::vector<std::uint32_t> weights_;
  std::size_t at_ = 0;
  std::uint32_t given_ = 0;  // how often the present place was returned in a row
};

// Returns the sequence over the places: 1:1, or weighted by the lesser of their read and write bandwidths, as the
// kernel reads it from the firmware's tables.
RoundRobin round_robin(bool weighted, const std::vector<PlaceId>& places, std::span<const double> bandwidths);

class Interleave final : public FixedPlacement {
 public:
  Interleave(std::string_view name, bool weighted) : name_(name), weighted_(weighted) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override;
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override;

 private:
  std::string_view name_;
  bool weighted_;
};

}  // namespace terrace::strategy
