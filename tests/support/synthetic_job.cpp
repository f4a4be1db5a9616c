// Writes the journals and records of a job that never ran. See synthetic_job.hpp.
#include "support/synthetic_job.hpp"

#include <algorithm>
#include <cmath>

#include "core/journal.hpp"

namespace terrace::test {
namespace {

using observe::ObjectKind;

constexpr PlaceId k_fast = 0;
constexpr PlaceId k_slow = 1;
constexpr double k_line = 64;
constexpr double k_mlp = 20;
constexpr double k_sample_interval = 1e-6;
constexpr double k_core_seconds[4] = {2.2e-3, 1.4e-3, 0.6e-3, 0.1e-3};
const std::vector<std::size_t> k_planned = {0, 3, 5};  // `u`, `index`, `lists`: 21 MiB

std::uint32_t chunks_of(const SyntheticObject& object) {
  return static_cast<std::uint32_t>((object.size + k_synthetic_chunk - 1) / k_synthetic_chunk);
}

std::vector<PlaceId> places_with(const std::vector<std::size_t>& fast) {
  std::vector<PlaceId> places;
  const auto& objects = synthetic_objects();
  for (std::size_t o = 0; o < objects.size(); ++o) {
    const bool in_fast = std::ranges::find(fast, o) != fast.end();
    places.insert(places.end(), chunks_of(objects[o]), in_fast ? k_fast : k_slow);
  }
  return places;
}

double iteration_seconds(const std::vector<std::size_t>& fast) {
  double total = 0;
  for (const auto& phase : synthetic_iteration(0, true, fast).phases) total += phase.time.value;
  return total;
}

Plan plan_of(const machine::Machine& machine) {
  Plan plan;
  plan.planner = "unimem";
  plan.machine = machine.name();
  plan.loop = "main";
  plan.budget = {"dram=24MiB"};
  plan.phases.assign(std::begin(k_synthetic_phases), std::end(k_synthetic_phases));
  for (const auto& object : synthetic_objects()) {
    plan.objects.push_back({object.name, {object.size}, chunks_of(object), false, {}});
  }
  for (const auto o : k_planned) {
    auto& object = plan.objects[o];
    object.parts = {{{0, object.chunks}, "dram"}};
  }
  // One object comes for one phase only, every time round.
  const auto buffers = plan.objects[6].chunks;
  plan.moves = {{6, {0, buffers}, "dram", 1, 3, true, {0.4e-3}, {0.05e-3}},
                {6, {0, buffers}, "nvm", 0, 4, false, {0}, {0.02e-3}}};
  plan.predicted_slow = {iteration_seconds({})};
  plan.predicted = {iteration_seconds(k_planned)};
  plan.lower_bound = {0.97 * plan.predicted.value};
  plan.gap = 0.004;
  return plan;
}

// Events of the program's run, on its own clock.
class SyntheticRun {
 public:
  SyntheticRun(Journal& journal, const SyntheticOptions& options) : journal_(journal), options_(options) {}

  void write() {
    begin();
    for (std::uint32_t n = 0; n < k_synthetic_iterations; ++n) {
      if (n == 1 && options_.plans) adopt_plan();
      iterate(n);
      if (!options_.ends && n + 2 == k_synthetic_iterations) return;
    }
    end();
  }

 private:
  void begin() {
    BlobWriter blob;
    machine_.to_blob(blob);
    profile::RunRecord run{options_.process,
                           1,
                           1'763'690'000'000'000'000,
                           "node7",
                           "/home/user/heat",
                           {"heat", "--size", "64"},
                           "virtual",
                           options_.plans ? "simulate" : "record",
                           "unimem",
                           "dram=24MiB",
                           0,
                           1,
                           {k_sample_interval}};
    run.rank = options_.rank;
    run.ranks = options_.ranks;
    profile::append(journal_, run);
    profile::append(journal_, profile::MachineRecord{std::string(
                                  reinterpret_cast<const char*>(blob.bytes().data()), blob.bytes().size())});
    std::uint32_t first = 0;
    profile::ObjectRecord record;
    for (const auto& object : synthetic_objects()) {
      record.object = {record.object.id,    object.name, object.kind,       {object.size},
                       {k_synthetic_chunk}, first,       chunks_of(object), true};
      record.at = {1e-4 * record.object.id};
      record.places.assign(record.object.chunks, k_slow);
      profile::append(journal_, record);
      first += record.object.chunks;
      ++record.object.id;
    }
    now_ = 2e-3;
    profile::append(journal_, profile::LoopRecord{"main", {now_}});
  }

  void adopt_plan() {
    profile::append(journal_, profile::PlanRecord{plan_of(machine_), {now_}, "after the first iteration"});
    for (const auto o : k_planned) move(o, k_fast, 1, 0, 0, 2.5e-3);
    fast_ = k_planned;
  }

  void iterate(std::uint32_t n) {
    const auto exact = synthetic_iteration(n, true, fast_);
    for (std::uint32_t p = 0; p < 4; ++p) {
      const double begun = now_;
      double waited = 0;
      if (n > 0 && options_.plans) {
        if (p == 1) move(6, k_fast, n, 1, 3, 0.4e-3);
        if (p == 3) waited = 0.04e-3;
        if (p == 0 && n > 1) move(6, k_slow, n, 0, 4, 0);
      }
      now_ += exact.phases[p].time.value + waited;
      profile::append(journal_, profile::PhaseRecord{n, p, k_synthetic_phases[p], {begun}, {now_}, {waited}});
    }
    if (n == 0) {
      profile::append(journal_,
                      profile::IterationRecord{false, synthetic_iteration(n, false, fast_), places_with({})});
      profile::append(journal_, profile::IterationRecord{true, exact, places_with({})});
    }
  }

  void move(std::size_t object, PlaceId to, std::uint32_t iteration, std::uint32_t ask, std::uint32_t need,
            double benefit) {
    const auto& o = synthetic_objects()[object];
    const double copy = static_cast<double>(o.size) / 8e9;
    const double begun = std::max(now_, mover_free_);
    mover_free_ = begun + copy;
    profile::Transfer transfer;
    transfer.move = moves_++;
    transfer.asked = {now_};
    transfer.begun = {begun};
    transfer.done = {mover_free_};
    transfer.waited = {object == 6 && to == k_fast ? 0.04e-3 : 0};
    transfer.size = {o.size};
    transfer.iteration = iteration;
    transfer.from = to == k_fast ? k_slow : k_fast;
    profile::Move move;
    move.benefit = {benefit};
    move.cost = {copy / 4};
    move.size = {o.size};
    move.object = static_cast<std::uint32_t>(object);
    move.chunks = chunks_of(o);
    move.ask = ask;
    move.need = need;
    move.to = to;
    profile::append(journal_, profile::MovesRecord{{move}});
    profile::append(journal_, profile::TransfersRecord{{transfer}});
  }

  void end() {
    profile::append(journal_, profile::LoopEndRecord{{now_}, k_synthetic_iterations, k_synthetic_iterations});
    profile::append(journal_, profile::ObjectEndRecord{2, {now_ + 1e-4}});
    profile::append(journal_, profile::CountersRecord{90'000'000,
                                                      200'000'000,
                                                      3'000'000,
                                                      1'800'000,
                                                      0,
                                                      {20e-3},
                                                      {9e-3},
                                                      {4e-3},
                                                      {0.3e-3},
                                                      {0.2e-3},
                                                      {0.1e-3}});
    profile::append(journal_, coverage());
    profile::append(journal_, profile::NoteRecord{"note", "compute uncalibrated", {now_}});
    profile::append(journal_, profile::EndRecord{{now_ + 2e-4}, "exit"});
  }

  // 60 samples of 300 in the loop without hooks, 40 of them in a library of the program's own.
  static profile::CoverageRecord coverage() {
    profile::CoverageRecord record;
    record.sample_period = {4e-3};
    record.code = {{"/opt/app/heat", true, {240 * 4e-3}, {10 * 4e-3}},
                   {"/opt/app/libsolver.so.3", false, {40 * 4e-3}, {}},
                   {"/lib/libm.so.6", false, {20 * 4e-3}, {500 * 4e-3}}};
    record.heap = 80e6;
    record.heap_uncovered = 4e6;
    record.objects = {{5, Bytes{6 << 20}}};  // "lists"
    return record;
  }

  Journal& journal_;
  SyntheticOptions options_;
  machine::Machine machine_ = synthetic_machine();
  std::vector<std::size_t> fast_;
  double now_ = 0;
  double mover_free_ = 0;
  std::uint32_t moves_ = 0;
};

}  // namespace

const std::vector<SyntheticObject>& synthetic_objects() {
  static const std::vector<SyntheticObject> objects = {
      {"u", ObjectKind::heap, 12 << 20, {2, 1, 1, 0}, {1, 0, 0, 0}, false},
      {"v", ObjectKind::heap, 12 << 20, {0, 1, 0, 0}, {0, 0, 0, 0}, false},
      {"r", ObjectKind::heap, 12 << 20, {1, 0, 1, 0}, {0, 1, 0, 0}, false},
      {"index", ObjectKind::heap, 3 << 20, {0, 0, 0.5, 0}, {0, 0, 0, 0}, true},
      {"fields_.coeff", ObjectKind::common, 5 << 20, {0.5, 0.5, 0, 0}, {0, 0, 0, 0}, false},
      {"lists", ObjectKind::mapping, 6 << 20, {0, 0.1, 0.2, 0.1}, {0, 0, 0, 0}, true},
      {"buffers", ObjectKind::fixed, 2 << 20, {0, 0, 0, 3}, {0, 0, 0.5, 1}, false},
      {"history makea heat.cpp:120", ObjectKind::heap, 40 << 20, {0, 0, 0, 0.02}, {0, 0, 0, 0.05}, false},
  };
  return objects;
}

machine::Machine synthetic_machine() {
  machine::MachineParts parts;
  parts.name = "synthetic";
  parts.description = "A small fast and a large slow memory, for tests";
  parts.nodes = {{"board", {}, {}}, {"dram", 0, k_fast}, {"nvm", 0, k_slow}};
  parts.places = {{"dram", "dram", {64ULL << 20}, {4096}, 0, -1}, {"nvm", "nvm", {16ULL << 30}, {4096}, 0, -1}};
  machine::Initiator cores;
  cores.name = "cores";
  cores.cores = 1;
  cores.frequency_hz = 2.4e9;
  cores.instruction_time = {0.25e-9};
  cores.caches = {{"l2", {256U << 10}, 8, false, {5e-9}}, {"l3", {2U << 20}, 16, true, {20e-9}}};
  parts.initiators = {cores};
  parts.domains = {{"node", 0, {k_fast, k_slow}}};
  parts.paths = {{0, k_fast, {16e9}, {16e9}, {86e-9}}, {0, k_slow, {8e9}, {8e9}, {172e-9}}};
  return machine::Machine(parts);
}

observe::Iteration synthetic_iteration(std::uint32_t number, bool exact, const std::vector<std::size_t>& fast) {
  observe::Iteration iteration;
  iteration.number = number;
  for (std::size_t p = 0; p < 4; ++p) {
    observe::Phase phase;
    phase.name = k_synthetic_phases[p];
    phase.core = {k_core_seconds[p]};
    double exposed = 0;
    double lines = 0;
    double busy[2] = {0, 0};
    std::uint32_t chunk = 0;
    const auto& objects = synthetic_objects();
    for (std::size_t o = 0; o < objects.size(); ++o) {
      const auto& object = objects[o];
      const bool in_fast = std::ranges::find(fast, o) != fast.end();
      for (std::uint32_t c = 0; c < chunks_of(object); ++c, ++chunk) {
        const double in_chunk = static_cast<double>(k_synthetic_chunk) / k_line;
        observe::Cell cell{chunk, object.reads[p] * in_chunk, object.writes[p] * in_chunk, 0, 0};
        if (cell.read_lines + cell.write_lines == 0) continue;
        lines += cell.read_lines + cell.write_lines;
        cell.exposure = object.dependent ? 0.5 * cell.read_lines : cell.read_lines / k_mlp;
        exposed += cell.exposure * (in_fast ? 86e-9 : 172e-9);
        busy[in_fast ? k_fast : k_slow] += (cell.read_lines + cell.write_lines) * k_line / (in_fast ? 16e9 : 8e9);
        phase.cells.push_back(cell);
      }
    }
    const double bandwidth = std::max(busy[k_fast], busy[k_slow]);
    phase.time = {std::max(phase.core.value + exposed, bandwidth)};
    if (exact) {
      phase.bandwidth_time = {bandwidth};
      for (auto& cell : phase.cells) {
        cell.streamed_lines = std::floor(cell.read_lines / 3);
        cell.streamed_exposure = cell.exposure / 7;
      }
    } else {
      // A sample falls on what happens when it is taken: objects get theirs by their share of the exposed time.
      phase.samples = std::floor(phase.time.value / k_sample_interval);
      for (auto& cell : phase.cells) {
        cell.samples = std::floor(phase.samples * cell.exposure * 172e-9 / phase.time.value);
        phase.samples_with_access += cell.samples;
        cell.line_squares = (cell.read_lines + cell.write_lines) * lines / phase.samples;
        cell.exposure = std::floor(cell.exposure);
      }
    }
    iteration.phases.push_back(std::move(phase));
  }
  return iteration;
}

void write_synthetic_journal(const std::string& path, const SyntheticOptions& options) {
  Journal journal(path);
  SyntheticRun(journal, options).write();
}

}  // namespace terrace::test
