// Policies that go by touches or faults (policy.hpp), which processors do not tell: for GPUs. Each is a file of
// page_policies/; the build makes the table of them (cmake/Variants.cmake).
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
  // A new one. The rules are those of "touch"; the others have none.
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

// All of them, each by name.
const std::vector<const PagePolicy*>& page_policies();

}  // namespace terrace::strategy
