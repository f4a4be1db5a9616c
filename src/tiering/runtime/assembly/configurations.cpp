// SPDX-License-Identifier: Apache-2.0
// Assembles the parts of a configuration (machine, clock, ledger, collectors, journal) for the agent and for
// replay. See configurations.hpp.
#include "runtime/assembly/configurations.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/mpi_rank.hpp"
#include "core/system_time.hpp"
#include "memory/ledger/mapped_page.hpp"
#include "memory/provider.hpp"
#include "observe/collecting/exact_collector.hpp"
#include "observe/collecting/interval_collector.hpp"
#include "observe/collector_variant.hpp"
#include "observe/threads/thread.hpp"
#include "profile/records.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "strategy/spill/belady_policy.hpp"
#include "transfer/move_queue.hpp"

namespace terrace::runtime {

namespace {

double kernel_seconds(clockid_t clock = CLOCK_MONOTONIC) { return to_seconds(read_kernel_clock(clock)); }

class RealClock final : public Clock {
 public:
  Seconds now() override { return Seconds{kernel_seconds() - begun_}; }
  Seconds worked() override { return Seconds{kernel_seconds(main_thread_)}; }
  void charge(Seconds) override {}

 private:
  // Encoding of a thread's CPU clock (kernel, posix-timers.h): flag of a thread, clock type "scheduled".
  static constexpr int k_of_thread = 4, k_scheduled = 2;
  clockid_t main_thread_ =
      static_cast<clockid_t>(~static_cast<unsigned>(getpid()) << 3U) | k_of_thread | k_scheduled;
  double begun_ = kernel_seconds();
};

std::string file_label(const SessionConfiguration& configuration) {
  return configuration.label.empty() ? "-" : configuration.label;
}

// Memory of the ledger: the page of the job on this node, which the launcher has made, or the process's own.
class LedgerMemory {
 public:
  explicit LedgerMemory(const SessionConfiguration& configuration) {
    if (configuration.ledger.empty())
      own_ = std::make_unique<memory::LedgerPage>();
    else
      shared_.emplace(configuration.ledger, memory::MappedPage::Access::write);
  }
  [[nodiscard]] memory::LedgerPage& page() const { return shared_ ? shared_->page() : *own_; }

 private:
  std::optional<memory::MappedPage> shared_;
  std::unique_ptr<memory::LedgerPage> own_;
};

memory::LedgerSettings ledger_settings(const machine::Machine& machine) {
  memory::LedgerSettings settings;
  for (const auto& place : machine.places()) settings.granules.push_back(place.granule);
  settings.say = [](const char* line) { (void)!::write(STDERR_FILENO, line, std::strlen(line)); };
  return settings;
}

// Owns everything that a configuration's pointers point to. Members of the other backend stay empty.
struct ConfigurationObjects {
  ConfigurationObjects(const Session& session, const SessionConfiguration& configuration,
                       const std::string& journal_path)
      : machine(configuration.machine),
        page(configuration),
        ledger(page.page(), configuration.budget, ledger_settings(machine)),
        journal(journal_path) {
    const auto initiator = machine.domains()[configuration.domain].initiator;
    if (session.backend == Backend::virtual_time) {
      simulated = std::make_unique<sim::VirtualMachine>(machine, initiator, configuration.cores, chunks, ledger);
    } else {
      clock = std::make_unique<RealClock>();
      provider = std::make_unique<memory::NumaProvider>(machine, chunks);
      mover = std::make_unique<transfer::MoveQueue>(machine, chunks, ledger, *clock,
                                                    [] { observe::t_thread.enter_runtime(); });
    }
  }
  machine::Machine machine;
  memory::ChunkTable chunks;
  LedgerMemory page;
  memory::Ledger ledger;
  Journal journal;
  std::unique_ptr<sim::VirtualMachine> simulated;
  std::unique_ptr<RealClock> clock;
  std::unique_ptr<memory::NumaProvider> provider;
  std::unique_ptr<transfer::MoveQueue> mover;
  std::unique_ptr<observe::Collector> sampled;
  std::unique_ptr<observe::ExactCollector> exact;
  std::unique_ptr<observe::IntervalCollector> watched;
};

// Returns LABEL.PROCESS.N.journal; N counts the programs that one process becomes by exec.
std::string journal_path(const Session& session, const SessionConfiguration& configuration) {
  for (int n = 0;; ++n) {
    auto path = session.directory + "/" + file_label(configuration) + "." + std::to_string(getpid()) + "." +
                std::to_string(n) + ".journal";
    if (::access(path.c_str(), F_OK) != 0) return path;
  }
}

std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "re")) {
    std::string text;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    std::fclose(file);
    for (std::size_t at = 0; at < text.size(); at += arguments.back().size() + 1)
      arguments.emplace_back(text.c_str() + at);
  }
  return arguments;
}

// Returns the journal's first record, which describes the run.
profile::RunRecord run_record(const Session& session, const SessionConfiguration& configuration,
                              InitiatorId initiator, const sim::ProgramIdentity& program) {
  profile::RunRecord run;
  run.process = program.process;
  run.parent = program.parent;
  run.started_unix_ns = program.started_unix_ns;
  run.host = program.host;
  run.program = program.program;
  run.arguments = program.arguments;
  run.rank = program.rank;
  run.ranks = program.ranks;
  run.backend = session.backend == Backend::real ? "real" : "virtual";
  run.mode = session.mode;
  run.planner = configuration.planner;
  run.budget = configuration.budget_text;
  run.initiator = initiator;
  run.cores = configuration.cores;
  run.sample_interval = session.sample_interval;
  run.core_time_fitted = configuration.core_time_fitted;
  run.core_time_from = configuration.core_time_from;
  run.progress = session.progress;
  return run;
}

}  // namespace

std::int64_t real_time_ns() { return static_cast<std::int64_t>(to_ns(read_kernel_clock(CLOCK_REALTIME))); }

sim::ProgramIdentity this_program() {
  sim::ProgramIdentity identity;
  identity.process = static_cast<std::uint32_t>(getpid());
  identity.parent = static_cast<std::uint32_t>(getppid());
  identity.started_unix_ns = real_time_ns();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  identity.host = host;
  char program[4096] = "";
  if (readlink("/proc/self/exe", program, sizeof program - 1) > 0) identity.program = program;
  identity.arguments = own_arguments();
  if (const auto mpi = read_mpi_rank()) {
    identity.rank = static_cast<std::int32_t>(mpi->rank);
    identity.ranks = mpi->size;
  }
  return identity;
}

// Makes the parts, and writes the journal's first records. The agent and replay call it for each configuration.
BuiltConfiguration build_configuration(const Session& session, const SessionConfiguration& configuration,
                                       ProfileSource source, const sim::ProgramIdentity& program) {
  auto parts =
      std::make_shared<ConfigurationObjects>(session, configuration, journal_path(session, configuration));
  const auto initiator = parts->machine.domains()[configuration.domain].initiator;
  BlobWriter blob;
  const auto write = [&](profile::RecordType type, auto&& encode) {
    blob.clear();
    encode(blob);
    parts->journal.append(static_cast<std::uint16_t>(type), blob.bytes());
  };
  write(profile::RecordType::run,
        [&](BlobWriter& out) { profile::encode(out, run_record(session, configuration, initiator, program)); });
  write(profile::RecordType::machine, [&](BlobWriter& out) { parts->machine.to_blob(out); });
  write(profile::RecordType::calibration, [&](BlobWriter& out) { configuration.calibration.to_blob(out); });

  BuiltConfiguration built;
  auto& given = built.parts;
  given.label = configuration.label;
  given.machine = &parts->machine;
  given.initiator = initiator;
  given.cores = configuration.cores;
  given.budget = configuration.budget;
  given.budget_text = configuration.budget_text;
  given.placement.planner = configuration.planner;
  given.placement.plan = configuration.plan;
  given.placement.refine_plan = configuration.refine_plan;
  given.placement.hints = configuration.hints;
  given.placement.learn_iterations = configuration.learn_iterations;
  given.placement.record_only = configuration.record_only;
  given.placement.first_touch = parts->simulated == nullptr && !session.intent.is_wanted();
  given.placement.undoes_losing_plans = configuration.undoes_losing_plans;
  given.placement.profiling_slows_program = parts->simulated == nullptr && source == ProfileSource::hooks;
  given.placement.keep_exact = configuration.keep_exact;
  given.calibration = configuration.calibration;
  given.sample_interval = session.sample_interval;
  given.progress = session.progress;
  given.chunks = &parts->chunks;
  given.ledger = &parts->ledger;
  if (const auto mpi = read_mpi_rank(); mpi && !parts->simulated && !configuration.ledger.empty())
    given.rank = mpi->rank;
  given.journal = &parts->journal;
  if (source == ProfileSource::hooks) {
    parts->sampled =
        observe::find_collector(session.collector)
            .make({parts->machine, initiator, configuration.cores, parts->chunks, session.sample_interval});
    given.sampled = parts->sampled.get();
    built.sinks.push_back(parts->sampled.get());
  }
  if (source == ProfileSource::pages) {
    auto collector = std::make_unique<observe::WatchedPagesCollector>(
        parts->machine, initiator, configuration.cores, parts->chunks, *parts->clock, session.page_window);
    given.sampled = built.watched_pages = collector.get();
    parts->sampled = std::move(collector);
  }
  if (auto* machine = parts->simulated.get()) {
    if (configuration.free_moves) machine->make_copies_free();
    const auto* variant = configuration.plan ? nullptr : &strategy::find_variant(configuration.planner);
    if (variant && variant->fast_memory_is_cache()) {
      const auto fast = parts->machine.fastest_first(configuration.domain).front();
      machine->enable_cache_mode(configuration.domain,
                                 std::min(configuration.budget[fast], parts->machine.place(fast).capacity));
    }
    if (configuration.memory.value > 0) {
      machine->enable_backing_file(configuration.domain, configuration.memory,
                                   std::make_unique<strategy::BeladyPolicy>());
      given.spilled = [machine] { return *machine->file_account(); };
    }
    if (const auto needs = variant ? variant->policy_needs() : std::nullopt) {
      parts->watched = std::make_unique<observe::IntervalCollector>(parts->machine, initiator, configuration.cores,
                                                                    parts->chunks, *machine, needs->sample_period);
      given.watched = parts->watched.get();
      built.sinks.push_back(parts->watched.get());
    }
    parts->exact =
        std::make_unique<observe::ExactCollector>(parts->machine, initiator, configuration.cores, parts->chunks);
    given.exact = parts->exact.get();
    built.sinks.push_back(parts->exact.get());
    built.sinks.push_back(machine);
    built.thread_clocks = machine;
    given.clock = machine;
    given.provider = machine;
    given.mover = machine;
    given.core_times = configuration.core_times;
    given.instructions_take = [machine, &of = *parts](Seconds time) {
      machine->set_instruction_time(time);
      of.exact->set_instruction_time(time);
      if (of.sampled) of.sampled->set_instruction_time(time);
    };
    given.totals = [machine] { return totals_of(machine->account()); };
    given.levels = [machine] { return machine->levels(); };
  } else {
    given.clock = parts->clock.get();
    given.provider = parts->provider.get();
    given.mover = parts->mover.get();
  }
  given.owner = std::move(parts);
  return built;
}

}  // namespace terrace::runtime
