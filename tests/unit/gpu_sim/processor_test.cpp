// Tests the order in which an SM issues warps, and what its stores wait for, with hand-written traces whose order
// and time follow from the definitions.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "gpu_sim/engine/simulator.hpp"
#include "machine.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_base = 2 << 20;
constexpr std::uint64_t k_page = 4096;

// Returns far pages in the order of their first request.
class FirstTouches final : public PagePlacement {
 public:
  explicit FirstTouches(std::vector<std::uint32_t>& order) : order_(order) {}
  [[nodiscard]] std::uint32_t touch_threshold() const override { return 1; }
  void on_touched(std::uint32_t page, const PageTable&, PageMover&) override { order_.push_back(page); }

 private:
  std::vector<std::uint32_t>& order_;
};

struct ScriptedStep {
  std::uint32_t before = 0;  // instructions
  StepKind kind = StepKind::load;
  std::uint64_t line = 0;  // of an access
};

Cta warp_of(std::initializer_list<ScriptedStep> parts, std::uint32_t after = 0) {
  Cta cta;
  for (const auto& part : parts) {
    Step step;
    step.before = part.before;
    step.kind = part.kind;
    if (part.kind == StepKind::use) step.back = 1;
    if (is_access(part.kind)) {
      step.lanes = k_lanes;
      step.lines = 1;
      cta.lines.emplace_back(k_base / k_line_bytes + part.line, 15);
    }
    cta.steps.push_back(step);
  }
  cta.warps.push_back({0, 0, static_cast<std::uint32_t>(cta.steps.size()), after});
  return cta;
}

StoredTrace kernel_of(std::vector<Cta> ctas, std::uint64_t pages) {
  StoredTrace trace;
  trace.add(Allocation{"x", k_base, pages * k_page});
  trace.begin(Kernel{"k", static_cast<std::uint32_t>(ctas.size()), k_lanes, 0, 0});
  for (const auto& cta : ctas) trace.add(cta);
  return trace;
}

constexpr std::uint64_t line_of(std::uint32_t page) { return page * k_page / k_line_bytes; }

// One warp can issue in each cycle; three fit. The first ends at once, and the youngest, `a`, takes its slot. `b`
// waits for page 0 from then on, `c` computes for far longer, then waits for page 1.
std::vector<std::uint32_t> order_of_pages(machine::WarpScheduler scheduler) {
  const auto none = warp_of({}, 5);
  const auto b = warp_of({{5, StepKind::load, line_of(0)}, {0, StepKind::use}, {5, StepKind::store, line_of(2)}});
  const auto c =
      warp_of({{4000, StepKind::load, line_of(1)}, {0, StepKind::use}, {5, StepKind::store, line_of(4)}});
  const auto a = warp_of({{5, StepKind::store, line_of(3)}});
  const auto trace = kernel_of({none, b, c, a}, 5);
  auto gpu = test_gpu();
  gpu.processors = gpu.schedulers = 1;
  gpu.ctas = 3;
  gpu.instruction_latency = 1;
  gpu.scheduler = scheduler;
  std::vector<std::uint32_t> order;
  Replay replay(trace);
  FirstTouches placement(order);
  Simulator(gpu, replay, placement, {k_all, k_all}).run();
  return order;
}

// Greedy: `c` is not interrupted when `b` becomes ready. Then the oldest: `b` before `a`, whose slot has a lower
// number.
TEST(GpuProcessor, GreedyThenOldest_FollowsTheDefinition) {
  EXPECT_EQ(order_of_pages(machine::WarpScheduler::greedy_then_oldest),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

// `a` is selected long before the load of `b` completes, and `b` before `c` ends its computation.
TEST(GpuProcessor, RoundRobin_FollowsTheDefinition) {
  EXPECT_EQ(order_of_pages(machine::WarpScheduler::round_robin), (std::vector<std::uint32_t>{0, 3, 2, 1, 4}));
}

// Twice the stores in flight per SM take half of the time.
TEST(GpuProcessor, StoresBeyondTheLimit_Wait) {
  constexpr std::uint32_t warps = 8;
  constexpr std::uint32_t stores = 128;  // of each, a line in each page: each opens a row
  std::vector<Cta> ctas;
  for (std::uint32_t w = 0; w < warps; ++w) {
    Cta cta;
    for (std::uint32_t i = 0; i < stores; ++i) {
      Step step;
      step.kind = StepKind::store;
      step.lanes = k_lanes;
      step.lines = 1;
      cta.steps.push_back(step);
      cta.lines.emplace_back(k_base / k_line_bytes + w * stores + i, 15);
    }
    cta.warps.push_back({0, 0, stores, 0});
    ctas.push_back(std::move(cta));
  }
  const auto trace = kernel_of(std::move(ctas), warps * stores * k_line_bytes / k_page);
  auto gpu = test_gpu();
  gpu.processors = 1;
  gpu.launch_cycles = 0;
  const auto cycles = [&](std::uint32_t at_once) {
    gpu.stores = at_once;
    Replay replay(trace);
    FractionPagePlacement pages(1);
    const auto run = Simulator(gpu, replay, pages, {k_all, k_all}).run();
    EXPECT_EQ(run.processors[0].stores, std::uint64_t{warps} * stores);
    return static_cast<double>(run.cycles);
  };
  auto last = cycles(1);
  // One at a time: each takes at least two network latencies to L2 and back.
  EXPECT_GE(last, warps * stores * 2.0 * gpu.network_latency);
  for (const std::uint32_t at_once : {2U, 4U, 8U}) {
    const auto now = cycles(at_once);
    EXPECT_NEAR(last / now, 2, 0.1) << at_once;
    last = now;
  }
}

// L1 is write-through and drops stored lines: a later read requests the line again.
TEST(GpuProcessor, Store_EvictsTheL1Line) {
  const auto misses = [](std::uint64_t stored) {
    const auto trace = kernel_of({warp_of({{0, StepKind::load, 0},
                                           {0, StepKind::use},
                                           {0, StepKind::store, stored},
                                           {0, StepKind::load, 0},
                                           {0, StepKind::use}})},
                                 1);
    Replay replay(trace);
    FractionPagePlacement pages(1);
    const auto run = Simulator(test_gpu(), replay, pages, {k_all, k_all}).run();
    std::uint64_t count = 0;
    for (const auto& of : run.processors) count += of.loads - of.load_hits;
    return count;
  };
  EXPECT_EQ(misses(0), 2U);
  EXPECT_EQ(misses(1), 1U);  // the neighbouring line
}

}  // namespace
}  // namespace terrace::gpu_sim
