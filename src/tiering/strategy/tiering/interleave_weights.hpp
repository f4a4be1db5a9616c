// Round robin over places, as the kernel interleaves pages over nodes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::strategy {

// What Linux makes of bandwidths (mm/mempolicy.c, reduce_interleave_weights, since 6.16; weighted interleave
// itself came with 6.9, with weights by hand): each node's share of 32, at least 1, over their greatest common
// divisor.
std::vector<std::uint32_t> interleave_weights(std::span<const double> bandwidths);

// The places in turns, each as often in a row as its weight says.
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
  std::uint32_t given_ = 0;  // to the place whose turn it is
};

// Over the places, in their order: 1:1, or by the lesser of their read and write bandwidths, as the kernel takes
// it from the firmware's tables.
RoundRobin round_robin(bool weighted, const std::vector<PlaceId>& places, std::span<const double> bandwidths);

}  // namespace terrace::strategy
