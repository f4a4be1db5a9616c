// SPDX-License-Identifier: Apache-2.0
// Computes round-robin sequences of places, as the kernel interleaves pages over nodes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "machine/machine.hpp"

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

}  // namespace terrace::strategy
