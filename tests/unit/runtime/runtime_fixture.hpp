// Runs the runtime on the simulator, for tests: a configuration whose journal can be read back, and a program that
// alternates between a hot and a cold object.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "observe/collecting/exact_collector.hpp"
#include "observe/collecting/interval_collector.hpp"
#include "observe/collecting/sampling_collector.hpp"
#include "profile/records.hpp"
#include "runtime/assembly/configurations.hpp"
#include "runtime/runtime.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/engine/calibrate.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "strategy/policy.hpp"

namespace terrace::runtime {

// Returns a machine with 16 GB/s and 86 ns in fast, 4 GB/s and 344 ns in slow memory.
inline machine::Machine two_places() {
  machine::MachineParts parts;
  parts.name = "two";
  parts.nodes = {{"machine", {}, {}}, {"fast", 0, 0}, {"slow", 0, 1}};
  parts.places = {{"fast", "dram", {1ULL << 30}, {4096}, 0, -1}, {"slow", "nvm", {16ULL << 30}, {4096}, 0, -1}};
  machine::Initiator core;
  core.name = "core";
  core.frequency_hz = 2.4e9;
  core.instruction_time = {0.25e-9};
  core.prefetch_mlp = 200;  // bandwidth decides
  core.caches = {{"l2", {256u << 10}, 8, false, {5e-9}}, {"l3", {1u << 20}, 16, true, {20e-9}}};
  parts.initiators = {core};
  parts.domains = {{"node", 0, {0, 1}}};
  parts.paths = {{0, 0, {16e9}, {16e9}, {86e-9}}, {0, 1, {4e9}, {4e9}, {344e-9}}};
  return machine::Machine(parts);
}

constexpr std::uint64_t k_mib = 1 << 20;
constexpr Seconds k_sample_interval{416e-9};

struct RunChoice {
  std::string planner = "auto";
  Bytes fast{5 * k_mib};
  bool keep_exact = false;
  std::optional<Plan> plan = {};
  bool refine_plan = false;  // refine `plan`
  std::uint32_t every = 0;   // above 0: a recording that observes one of so many iterations
  bool observes_outside = true;
  observe::CoreTimes core_times = {};
  strategy::Hints hints = {};
  bool undoes_losing_plans = false;
  Seconds sample_interval = k_sample_interval;
  std::string progress{observe::k_default_progress};
  bool segments = false;  // report progress chunk by chunk, as always for policies
};

// One run of the program with a journal of its own.
class TestRun {
 public:
  explicit TestRun(RunChoice of = {}) : choice(std::move(of)) {
    tee.add(sampled);
    if (watched) tee.add(*watched);
    tee.add(exact);
    tee.add(vm);
  }
  ~TestRun() { std::filesystem::remove_all(folder); }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;

  static const void* address(std::uint64_t n) { return reinterpret_cast<const void*>(n << 32); }

  // Sweeps `passes` times over the object's chunks, every line once; ignored while accesses are not observed.
  void sweep(ObjectId object, int passes, observe::MissKind kind = observe::MissKind::prefetched) {
    if (!observed) return;
    for (int pass = 0; pass < passes; ++pass)
      for (ChunkId chunk = 0; chunk < chunks.size(); ++chunk) {
        if (chunks[chunk].object != object) continue;
        std::vector<observe::Miss> misses;
        for (std::uint32_t line = 0; line < chunks[chunk].size / 64; ++line)
          misses.push_back({chunk, static_cast<std::uint16_t>(line), 0, kind});
        observe::Quantum quantum;
        quantum.accesses = quantum.instructions = misses.size() * 8;
        quantum.misses = misses;
        tee.quantum(quantum);
        if (watched || choice.segments) runtime.on_quantum(quantum);
      }
  }
  // Lets time pass before the loop: limits of learning and moves are shares of the run.
  void set_up(Seconds time) { vm.charge(time); }
  // Executes instructions without misses; ignored while accesses are not observed.
  void compute(std::uint64_t instructions) {
    if (!observed) return;
    observe::Quantum quantum;
    quantum.instructions = instructions;
    tee.quantum(quantum);
  }
  void iterate(int iterations) {
    runtime.loop_begin("main");
    for (int i = 0; i < iterations; ++i) {
      runtime.phase("solve");
      sweep(hot, 8);
      runtime.phase("output");
      sweep(cold, 1);
    }
    runtime.loop_end();
    runtime.finish("exit");
  }
  // Returns the cost of the collector's samples: 250 ns each, and 2.5 us for each 64.
  [[nodiscard]] Seconds paid_for_samples() const {
    return static_cast<double>(sampled.taken()) * Seconds{250e-9} +
           static_cast<double>(sampled.taken() / 64) * Seconds{2.5e-6};
  }
  // Adds a third object during the run.
  ObjectId add_late() {
    return runtime.add_object("late", observe::ObjectKind::heap, address(3), Bytes{4 * k_mib});
  }
  // Returns the bytes of the object that are in fast memory at present.
  [[nodiscard]] std::uint64_t in_fast_memory(ObjectId object) const {
    std::uint64_t bytes = 0;
    for (const auto& chunk : chunks)
      if (chunk.object == object && chunk.place.load() == 0) bytes += chunk.size;
    return bytes;
  }
  // Returns the maximum of bytes in fast memory by the journal: initial places and every transfer, whose capacity
  // is reserved when it begins and released when it is done.
  std::uint64_t max_held() {
    std::multimap<double, std::int64_t> changes;
    for (const auto& object : records<profile::ObjectRecord>())
      for (const auto place : object.places)
        if (place == 0) changes.emplace(0, static_cast<std::int64_t>(object.object.chunk_size.value));
    std::vector<profile::Move> moves;
    for (const auto& record : records<profile::MovesRecord>())
      moves.insert(moves.end(), record.moves.begin(), record.moves.end());
    for (const auto& record : records<profile::TransfersRecord>())
      for (const auto& transfer : record.transfers) {
        const auto size = static_cast<std::int64_t>(transfer.size.value);
        if (transfer.from == 0) changes.emplace(transfer.done.value, -size);
        if (moves.at(transfer.move).to == 0) changes.emplace(transfer.begun.value, size);
      }
    std::int64_t held = 0, most = 0;
    for (auto at = changes.begin(); at != changes.end();) {
      const auto time = at->first;
      std::vector<std::int64_t> now;
      for (; at != changes.end() && at->first == time; ++at) now.push_back(at->second);
      std::sort(now.begin(), now.end());  // completions release capacity for transfers that begin at that time
      for (const auto change : now) most = std::max(most, held += change);
    }
    return static_cast<std::uint64_t>(most);
  }
  template <class Record>
  std::vector<Record> records() {
    const int file = open((folder + "/journal").c_str(), O_RDONLY);
    struct stat status {};
    fstat(file, &status);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    std::vector<Record> found;
    const auto end = read_journal({static_cast<const std::byte*>(map), size}, [&](const JournalRecord& record) {
      if (record.type != static_cast<std::uint16_t>(profile::k_record_type<Record>)) return;
      BlobReader in(record.payload);
      profile::decode(in, found.emplace_back());
    });
    EXPECT_TRUE(end.whole);
    munmap(map, size);
    return found;
  }

  const RunChoice choice;
  bool observed = true;  // as the runtime requests
  machine::Machine machine = two_places();
  machine::Budget budget = machine::fast_budget(machine, choice.fast);
  memory::ChunkTable chunks;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger{*page, budget};
  std::string folder = make_folder();
  Journal journal{folder + "/journal"};
  sim::VirtualMachine vm{machine, 0, 1, chunks, ledger};
  observe::SamplingCollector sampled{machine, 0, 1, chunks, choice.sample_interval};
  observe::ExactCollector exact{machine, 0, 1, chunks};
  std::optional<observe::IntervalCollector> watched = watch();
  observe::Tee tee;
  Runtime runtime{parts()};
  ObjectId hot = runtime.add_object("hot", observe::ObjectKind::heap, address(1), Bytes{4 * k_mib});
  ObjectId cold = runtime.add_object("cold", observe::ObjectKind::heap, address(2), Bytes{16 * k_mib});

 private:
  static std::string make_folder() {
    auto name = (std::filesystem::temp_directory_path() / "terrace-runtime-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(name + ": cannot be made");
    return name;
  }
  std::optional<observe::IntervalCollector> watch() {
    const auto needs = strategy::find_variant(choice.planner).policy_needs();
    if (!needs) return std::nullopt;
    return std::make_optional<observe::IntervalCollector>(machine, 0, 1, chunks, vm, needs->sample_period);
  }
  RuntimeParts parts() {
    ConfigurationParts configuration;
    configuration.machine = &machine;
    configuration.budget = budget;
    configuration.placement.planner = choice.planner;
    configuration.placement.plan = choice.plan;
    configuration.placement.refine_plan = choice.refine_plan;
    configuration.placement.hints = choice.hints;
    configuration.placement.undoes_losing_plans = choice.undoes_losing_plans;
    configuration.placement.record_only = choice.every > 0;
    configuration.placement.keep_exact = choice.keep_exact;
    configuration.calibration = sim::measure_calibration(machine, 0, 1);
    configuration.sample_interval = choice.sample_interval;
    configuration.progress = choice.progress;
    configuration.chunks = &chunks;
    configuration.clock = &vm;
    configuration.provider = &vm;
    configuration.mover = &vm;
    configuration.ledger = &ledger;
    configuration.sampled = &sampled;
    configuration.exact = &exact;
    configuration.watched = watched ? &*watched : nullptr;
    configuration.journal = &journal;
    configuration.core_times = choice.core_times;
    configuration.instructions_take = [this](Seconds time) {
      vm.set_instruction_time(time);
      sampled.set_instruction_time(time);
      exact.set_instruction_time(time);
    };
    configuration.totals = [this] { return runtime::totals_of(vm.account()); };
    RuntimeParts parts;
    if (choice.every > 0) parts.sample_every = choice.every;
    parts.progress = &observe::find_progress(choice.progress);
    parts.observe = [this](bool wanted) { observed = wanted; };
    parts.observes_outside = choice.observes_outside;
    parts.configurations.push_back(std::move(configuration));
    return parts;
  }
};

}  // namespace terrace::runtime
