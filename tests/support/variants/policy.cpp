// A policy that fills the fast tier in the order of the chunks.
#include "strategy/tiering/policy_variant.hpp"

namespace terrace::strategy {
namespace {

class Dummy final : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override { return {Seconds{1e-3}, 100}; }
  void decide(const observe::Observation&, const Tiers& tiers, PolicyChoice& choice) override {
    auto room = tiers.free.value;
    for (ChunkId id = 0; id < tiers.chunks->size(); ++id) {
      if (!tiers.is_on(id, tiers.slow) || tiers.size(id).value > room) continue;
      room -= tiers.size(id).value;
      choice.moves.push_back({id, tiers.fast});
    }
  }
};

}  // namespace

const Variant& dummy_variant() {
  static const PolicyVariant<Dummy> variant("dummy");
  return variant;
}

}  // namespace terrace::strategy
