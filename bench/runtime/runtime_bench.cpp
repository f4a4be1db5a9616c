// Measures the runtime's own work on this machine, for `make bench`: a marker with nothing to do, a plan by its
// cells (chunk by phase), a move requested and collected. src/tiering/model/costs.hpp states these costs for
// virtual time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "core/segment_name.hpp"
#include "machine/machine.hpp"
#include "model/problem.hpp"
#include "runtime/runtime.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "strategy/learning/early_move_selector.hpp"
#include "strategy/planner.hpp"

namespace {

using namespace terrace;

machine::Machine two_places() {
  machine::MachineParts parts;
  parts.name = "two";
  parts.nodes = {{"machine", {}, {}}, {"fast", 0, 0}, {"slow", 0, 1}};
  parts.places = {{"fast", "dram", {8ULL << 30}, {4096}, 0, -1}, {"slow", "nvm", {64ULL << 30}, {4096}, 0, -1}};
  machine::Initiator core;
  core.name = "core";
  core.frequency_hz = 2.4e9;
  core.instruction_time = {0.25e-9};
  core.caches = {{"l3", {1u << 20}, 16, true, {20e-9}}};
  parts.initiators = {core};
  parts.domains = {{"node", 0, {0, 1}}};
  parts.paths = {{0, 0, {16e9}, {16e9}, {86e-9}}, {0, 1, {4e9}, {4e9}, {344e-9}}};
  return machine::Machine(parts);
}

// A problem of `objects` objects with 16 chunks each and `phases` phases; every phase touches a third of the
// chunks.
model::Problem random_problem(const machine::Machine& machine, std::uint32_t objects, std::uint32_t phases) {
  std::mt19937_64 random(1);
  profile::Profile profile;
  profile.sample_interval = Seconds{416e-9};
  profile.iterations.emplace_back();
  for (std::uint32_t object = 0; object < objects; ++object)
    profile.objects.push_back({object, "object " + std::to_string(object), observe::ObjectKind::heap,
                               Bytes{16 << 20}, Bytes{1 << 20}, object * 16, 16, true});
  profile.places.assign(objects * 16, 1);
  for (std::uint32_t k = 0; k < phases; ++k) {
    observe::Phase phase;
    phase.name = "phase " + std::to_string(k);
    phase.core = Seconds{1e-3};
    phase.time = Seconds{5e-3};
    for (ChunkId chunk = 0; chunk < objects * 16; ++chunk)
      if (random() % 3 == 0) {
        const auto lines = static_cast<double>(random() % 16384);
        phase.cells.push_back({chunk, lines, lines / 4, lines / 15, lines / 100});
      }
    profile.iterations[0].phases.push_back(std::move(phase));
  }
  return model::make_problem(profile, machine, machine::fast_budget(machine, Bytes{objects * (4ULL << 20)}),
                             model::affordable_items(profile));
}

// Measures the processor time of planning; `charged_ms` is what virtual time counts for it.
void plan_with(benchmark::State& state, strategy::Effort effort) {
  const auto machine = two_places();
  const auto problem = random_problem(machine, static_cast<std::uint32_t>(state.range(0)),
                                      static_cast<std::uint32_t>(state.range(1)));
  std::size_t cells = 0;
  for (const auto& phase : problem.phases) cells += phase.cells.size();
  model::Calibration calibration;
  calibration.places.resize(machine.places().size());
  for (auto& place : calibration.places) place.peak_bandwidth = 4e9;
  const auto& planner = strategy::find_planner("auto");
  for (auto step : state) benchmark::DoNotOptimize(planner.decide(problem, calibration, effort));
  state.counters["charged_ms"] = 1e3 * planner.planning_time(problem, effort).value;
  state.counters["cells"] = static_cast<double>(cells);
  state.counters["s_per_cell"] = benchmark::Counter(
      static_cast<double>(cells), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
void plan(benchmark::State& state) { plan_with(state, strategy::Effort::quick); }
void plan_unhurried(benchmark::State& state) { plan_with(state, strategy::Effort::unhurried); }
BENCHMARK(plan)->Args({10, 20})->Args({50, 100})->Unit(benchmark::kMillisecond);
BENCHMARK(plan_unhurried)->Args({10, 20})->Args({50, 100})->Unit(benchmark::kMillisecond);

// Returns a profile as of a whole node: `objects` objects of 500 chunks, of which each phase sweeps some from end
// to end, others in part; within an object some segments are used more than others, as blocks of a matrix are.
// About 10,000 cells a phase.
profile::Profile large_profile(std::uint32_t objects, std::uint32_t phases) {
  constexpr std::uint32_t k_chunks = 500;
  std::mt19937_64 random(1);
  profile::Profile profile;
  profile.sample_interval = Seconds{416e-9};
  profile.iterations.emplace_back();
  for (std::uint32_t object = 0; object < objects; ++object)
    profile.objects.push_back({object, "object " + std::to_string(object), observe::ObjectKind::heap,
                               Bytes{k_chunks << 16}, Bytes{1 << 16}, object * k_chunks, k_chunks, true});
  profile.places.assign(std::size_t{objects} * k_chunks, 1);
  for (std::uint32_t k = 0; k < phases; ++k) {
    observe::Phase phase;
    phase.name = "phase " + std::to_string(k);
    std::vector<std::uint32_t> used;
    used.reserve(28);
    for (int n = 0; n < 28; ++n) used.push_back(static_cast<std::uint32_t>(random() % objects));
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    double lines = 0;
    for (const auto object : used) {
      const auto begin = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % 250);
      const auto end = begin == 0 ? k_chunks : begin + 250;
      double heat = 1;
      for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
        if (random() % 50 == 0) heat = static_cast<double>(1 + random() % 8);
        const auto read = 2048 * heat * (0.9 + 0.2 * static_cast<double>(random() % 1000) / 1000);
        phase.cells.push_back({object * k_chunks + chunk, read, read / 4, read / 15, read / 100});
        lines += read;
      }
    }
    phase.core = Seconds{lines * 64 / 16e9};
    phase.time = Seconds{lines * 80 / 4e9};
    profile.iterations[0].phases.push_back(std::move(phase));
  }
  return profile;
}

// Measures the whole planning, from the profile to the plan in names.
void plan_large(benchmark::State& state) {
  const auto machine = two_places();
  const auto objects = static_cast<std::uint32_t>(state.range(0));
  const auto profile = large_profile(objects, static_cast<std::uint32_t>(state.range(1)));
  std::size_t cells = 0;
  for (const auto& phase : profile.iterations[0].phases) cells += phase.cells.size();
  model::Calibration calibration;
  calibration.places.resize(machine.places().size());
  for (auto& place : calibration.places) place.peak_bandwidth = 4e9;
  const auto& planner = strategy::find_planner("auto");
  double gap = 0;
  for (auto step : state) {
    const auto problem =
        model::make_problem(profile, machine, machine::fast_budget(machine, Bytes{objects * (8ULL << 20)}),
                            model::affordable_items(profile));
    const auto decision = planner.decide(problem, calibration, strategy::Effort::quick);
    benchmark::DoNotOptimize(strategy::make_plan(problem, decision, planner.name()));
    gap = decision.gap;
  }
  state.counters["chunks"] = objects * 500;
  state.counters["cells"] = static_cast<double>(cells);
  state.counters["gap"] = gap;
}
BENCHMARK(plan_large)->Args({200, 1000})->Unit(benchmark::kMillisecond)->Iterations(3);

void marker(benchmark::State& state) {
  const auto machine = two_places();
  auto page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger(*page, machine::fast_budget(machine, Bytes{1 << 20}));
  memory::ChunkTable chunks;
  sim::VirtualMachine vm(machine, 0, 1, chunks, ledger);
  char path[] = "/tmp/terrace-bench-XXXXXX";
  if (!mkdtemp(path)) return;
  Journal journal(std::string(path) + "/journal");
  runtime::RuntimeParts parts;
  runtime::ConfigurationParts configuration;
  configuration.machine = &machine;
  configuration.budget = machine::fast_budget(machine, Bytes{1 << 20});
  configuration.placement.planner = "slow-only";
  configuration.chunks = &chunks;
  configuration.clock = &vm;
  configuration.provider = &vm;
  configuration.mover = &vm;
  configuration.ledger = &ledger;
  configuration.journal = &journal;
  parts.configurations.push_back(std::move(configuration));
  runtime::Runtime runtime(std::move(parts));
  runtime.loop_begin("main");
  for (auto iteration : state) runtime.phase(state.iterations() % 2 ? "a" : "b");
  runtime.loop_end();
}
BENCHMARK(marker)->Iterations(100000);

// Moves at once: the time left is that of the runtime's own requests, book-keeping and journal.
class InstantMover final : public transfer::Mover {
 public:
  explicit InstantMover(memory::ChunkTable& chunks) : chunks_(chunks) {}
  transfer::Ticket submit(std::span<const transfer::TransferRequest> requests) override {
    const auto first = last_ + 1;
    for (const auto& request : requests) {
      auto& chunk = chunks_[request.chunk];
      transfer::TransferResult result;
      result.ticket = ++last_;
      result.chunk = request.chunk;
      result.from = chunk.place.exchange(request.to);
      result.to = request.to;
      result.size = Bytes{chunk.size};
      finished_.push_back(result);
    }
    return first;
  }
  bool done(transfer::Ticket) override { return true; }
  void wait(transfer::Ticket) override {}
  void expedite_pending() override {}
  void limit_rate(double) override {}
  void forget(ChunkId, std::uint32_t) override {}
  std::vector<transfer::TransferResult> completions() override { return std::exchange(finished_, {}); }

 private:
  memory::ChunkTable& chunks_;
  transfer::Ticket last_ = 0;
  std::vector<transfer::TransferResult> finished_;
};

// Runs `iterate` for each iteration of the benchmark, in a runtime that follows `plan`, with two objects x and y
// of `chunks_each` chunks.
template <class Iterate>
void obey(benchmark::State& state, std::uint32_t chunks_each, Plan plan, Iterate iterate) {
  const auto machine = two_places();
  auto page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger(*page, machine::fast_budget(machine, Bytes{1 << 30}));
  memory::ChunkTable chunks;
  sim::VirtualMachine vm(machine, 0, 1, chunks, ledger);
  InstantMover mover(chunks);
  char path[] = "/tmp/terrace-bench-XXXXXX";
  if (!mkdtemp(path)) return;
  Journal journal(std::string(path) + "/journal");
  runtime::RuntimeParts parts;
  parts.chunk_rule = {chunks_each, Bytes{1 << 20}, Bytes{1 << 20}};
  runtime::ConfigurationParts configuration;
  configuration.machine = &machine;
  configuration.budget = machine::fast_budget(machine, Bytes{1 << 30});
  const Bytes size{chunks_each * (1ULL << 20)};
  plan.objects = {{"x", size, chunks_each, false, {}}, {"y", size, chunks_each, false, {}}};
  configuration.placement.plan = std::move(plan);
  configuration.chunks = &chunks;
  configuration.clock = &vm;
  configuration.provider = &vm;
  configuration.mover = &mover;
  configuration.ledger = &ledger;
  configuration.journal = &journal;
  parts.configurations.push_back(std::move(configuration));
  runtime::Runtime runtime(std::move(parts));
  runtime.add_object("x", observe::ObjectKind::heap, reinterpret_cast<void*>(1ULL << 40), size);
  runtime.add_object("y", observe::ObjectKind::heap, reinterpret_cast<void*>(1ULL << 41), size);
  runtime.loop_begin("main");
  bool odd = false;
  for (auto one : state) iterate(runtime, (odd = !odd) ? "a" : "b");
  runtime.loop_end();
}

// Measures moves: x and y change places in every phase, in alternating spans, as where evictions free space for
// moves to fast memory. From one span to the next it is `step` chunks: with gaps between them no chunk is
// another's neighbour.
void moves(benchmark::State& state) {
  const auto chunks_each = static_cast<std::uint32_t>(state.range(0));
  const auto span = static_cast<std::uint32_t>(state.range(1));
  const auto step = static_cast<std::uint32_t>(state.range(2));
  Plan plan;
  plan.phases = {"a", "b"};
  for (std::uint32_t phase = 0; phase < 2; ++phase)
    for (std::uint32_t first = 0; first < chunks_each; first += step)
      for (std::uint32_t object = 0; object < 2; ++object)
        plan.moves.push_back(
            {object, {first, span}, object == phase ? "fast" : "slow", phase, phase, true, {}, {}});
  obey(state, chunks_each, std::move(plan),
       [](runtime::Runtime& runtime, const char* phase) { runtime.phase(phase); });
  state.counters["s_per_move"] =
      benchmark::Counter(2.0 * chunks_each * span / step,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(moves)
    ->Args({1, 1, 1})
    ->Args({64, 64, 64})
    ->Args({64, 1, 1})
    ->Args({512, 64, 64})
    ->Args({64, 1, 2})
    ->Iterations(2000);

// Measures a plan that moves chunk by chunk in the segments of a phase: one chunk of each object in each segment.
void segments(benchmark::State& state) {
  constexpr std::uint32_t k_segments = 32;
  constexpr std::uint64_t k_accesses = 16384;
  Plan plan;
  for (std::uint32_t phase = 0; phase < 2; ++phase)
    for (std::uint32_t segment = 0; segment < k_segments; ++segment) {
      const std::string name = phase == 0 ? "a" : "b";
      plan.phases.push_back(segment == 0 ? name : segment_name(name, segment * k_accesses));
      const auto at = phase * k_segments + segment;
      for (std::uint32_t object = 0; object < 2; ++object)
        plan.moves.push_back({object, {segment, 1}, object == phase ? "fast" : "slow", at, at, false, {}, {}});
    }
  obey(state, k_segments, std::move(plan), [](runtime::Runtime& runtime, const char* phase) {
    runtime.phase(phase);
    for (std::uint32_t segment = 1; segment < k_segments; ++segment) runtime.on_quantum({0, k_accesses});
  });
  state.counters["s_per_segment"] =
      benchmark::Counter(k_segments, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(segments)->Iterations(2000);

// Measures early moves, before there is a plan: ranges of 64 chunks of 1,024, a quarter of which fit.
void early(benchmark::State& state) {
  constexpr std::uint32_t k_chunks = 1024, k_segment = 64, k_size = 65536;
  const auto machine = two_places();
  memory::ChunkTable chunks;
  for (std::uint32_t i = 0; i < k_chunks; ++i) chunks.add(0, k_size, 0, 0, i < k_chunks / 4 ? 0 : 1);
  strategy::EarlyMoveSelector early(machine, 0);
  const strategy::Tiers tiers{&chunks, 0, 0, 1, Bytes{k_chunks / 4 * k_size}, Bytes{}};
  observe::Phase segment;
  std::uint32_t at = 0;
  for (auto _ : state) {
    segment.cells.clear();
    for (std::uint32_t i = 0; i < k_segment; ++i)
      segment.cells.push_back({(at + i) % k_chunks, 1024, 0, 70.0 + (at + i) * 37 % 50, 0, 0});
    at += k_segment;
    early.on_segment(segment, tiers);
    for (const auto& move : early.select_moves(tiers)) chunks.put(chunks[move.chunk], move.to);
  }
  state.counters["s_per_cell"] =
      benchmark::Counter(k_segment, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(early);

}  // namespace
