// Serves places of kind "dummy", by leaving memory where the system puts it.
#include "memory/provider.hpp"

namespace terrace::memory {
namespace {

class Dummy final : public Provider {
 public:
  bool bind(ChunkId, std::uint32_t, PlaceId) override { return true; }
  [[nodiscard]] PlaceId where(ChunkId) override { return k_no_place; }
};

class Variant final : public ProviderVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] bool serves(const machine::Place& place) const override { return place.kind == "dummy"; }
  [[nodiscard]] std::unique_ptr<Provider> make(const machine::Machine&, const ChunkTable&) const override {
    return std::make_unique<Dummy>();
  }
};

}  // namespace

const ProviderVariant& dummy_provider() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::memory
