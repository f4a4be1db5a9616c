// A collector that observes no accesses.
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class Dummy final : public Collector {
 public:
  void set_instruction_time(Seconds) override {}

 private:
  void count(const Quantum&, const Tally&) override {}
  void finish(Phase&) override {}
};

class Variant final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts&) const override {
    return std::make_unique<Dummy>();
  }
};

}  // namespace

const CollectorVariant& dummy_collector() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
