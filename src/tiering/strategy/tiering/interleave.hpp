// SPDX-License-Identifier: Apache-2.0
// Interleaves chunks round robin over the places of their domain, in allocation order. A chunk for a full place is
// allocated at home. Uses no traffic, and nothing moves. The kernel interleaves pages, Terrace chunks.
#pragma once

#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {

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
