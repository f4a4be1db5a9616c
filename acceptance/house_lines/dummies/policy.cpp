// A policy that wants nothing.
#include "strategy/tiering/policy_variant.hpp"

namespace terrace::strategy {
namespace {

class Dummy final : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override { return {Seconds{1e-3}, 100}; }
  void decide(const observe::Observation&, const Tiers&, Wishes&) override {}
};

}  // namespace

const Variant& dummy_variant() {
  static const PolicyVariant<Dummy> variant("dummy");
  return variant;
}

}  // namespace terrace::strategy
