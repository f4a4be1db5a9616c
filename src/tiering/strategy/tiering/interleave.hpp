// Interleaving: chunks round robin over the places of their domain, in the order in which the program makes them;
// what a full place would get is made at home. No traffic is looked at, nothing moves. The kernel's unit is the
// page, ours the chunk.
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
