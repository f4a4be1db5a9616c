// SPDX-License-Identifier: Apache-2.0
// Adapts a policy to the strategy interface: lets it decide in the main loop, interval by interval. The variants
// in policies/ use it, in virtual time.
#pragma once

#include <memory>
#include <utility>

#include "strategy/policy.hpp"
#include "strategy/strategy.hpp"
#include "strategy/variant.hpp"

namespace terrace::strategy {

[[nodiscard]] std::unique_ptr<Strategy> start_policy(std::unique_ptr<Policy> policy, const Context& context);

// Variant of a policy with a default constructor.
template <class SomePolicy>
class PolicyVariant final : public Variant {
 public:
  explicit PolicyVariant(std::string_view name) : name_(name) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::unique_ptr<Policy> policy() const override { return std::make_unique<SomePolicy>(); }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return start_policy(policy(), context);
  }

 private:
  std::string_view name_;
};

}  // namespace terrace::strategy
