// Counts, by an executor that runs no kernel, each chain's traffic with the slow memory. See chain_needs.hpp.
#include "workloads/stencils/chain_needs.hpp"

#include <cstring>
#include <map>

#include "stencil/engine/engine.hpp"
#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil::programs {
namespace {

// Returns the number of points of the range that are in the set.
double common_points(const Boxes& set, const Range& range) {
  double points = 0;
  for (const auto& box : set.all())
    if (const auto both = intersection(box, range); !both.empty()) points += static_cast<double>(both.points());
  return points;
}

class Counting final : public Executor {
 public:
  explicit Counting(Needs& needs) : needs_(needs) {}

  void add(const DatasetInfo& info) override {
    needs_.dataset_bytes += static_cast<double>(info.bytes());
    auto& kept = kept_[info.id];
    if (!info.is_temporary) kept.add(info.range);
    for (const auto& range : info.kept) kept.add(range);
    elements_[info.id] = static_cast<double>(info.element);
  }
  void run(std::span<const Loop> chain, Reductions& /*reductions*/) override {
    ChainNeeds counted{chain.size()};
    for (const auto& [dataset, use] : uses_of(chain)) {
      auto& there = there_[dataset];
      double in = 0, out = 0;
      for (const auto& needed : use.needed.all()) in += common_points(there, needed);
      for (const auto& written : use.written.all()) out += common_points(kept_.at(dataset), written);
      counted.in += in * elements_.at(dataset);
      counted.out += out * elements_.at(dataset);
      for (const auto& written : use.written.all()) there.add(written);
    }
    needs_.chains.push_back(counted);
  }
  void get(DatasetId dataset, const Range& range, std::byte* numbers) override {
    std::memset(numbers, 0, range.points() * static_cast<std::size_t>(elements_.at(dataset)));
  }
  void set(DatasetId dataset, const Range& range, const std::byte* /*numbers*/) override {
    there_[dataset].add(range);
  }

 private:
  Needs& needs_;
  std::map<DatasetId, Boxes> kept_, there_;
  std::map<DatasetId, double> elements_;
};

}  // namespace

Context counting_context(Needs& needs) {
  return Context(std::make_unique<Engine>(Options{.executor = "counting"}, std::make_unique<Counting>(needs)));
}

}  // namespace terrace::stencil::programs
