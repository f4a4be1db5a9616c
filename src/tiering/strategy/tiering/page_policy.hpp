// SPDX-License-Identifier: Apache-2.0
// Defines policies by name for GPUs. They use touches or faults (policy.hpp), which processors do not report. Each
// is one file in page_policies/; the build generates the table of them (cmake/Variants.cmake).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "strategy/policy.hpp"
#include "strategy/tiering/touch_policy.hpp"

namespace terrace::strategy {

class PagePolicy {
 public:
  virtual ~PagePolicy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns a new policy. Only "touch" uses the rules.
  [[nodiscard]] virtual std::unique_ptr<Policy> make(const TouchRules& rules) const = 0;
};

template <class Make>
class NamedPagePolicy final : public PagePolicy {
 public:
  NamedPagePolicy(std::string_view name, Make make) : name_(name), make_(make) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::unique_ptr<Policy> make(const TouchRules& rules) const override { return make_(rules); }

 private:
  std::string_view name_;
  Make make_;
};

// Returns all page policies, sorted by name.
const std::vector<const PagePolicy*>& page_policies();

}  // namespace terrace::strategy
