// The parts of a world, put together. See worlds.hpp.
#include "runtime/assembly/worlds.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "memory/providers/numa_backing.hpp"
#include "observe/collectors/exact_collector.hpp"
#include "observe/collectors/interval_collector.hpp"
#include "observe/collectors/sampling_collector.hpp"
#include "observe/threads/thread.hpp"
#include "profile/records.hpp"
#include "runtime/assembly/simulated_totals.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "strategy/policy.hpp"
#include "transfer/numa_mover.hpp"

namespace terrace::runtime {

namespace {

// The kernel's monotonic clock, past every interposer.
double kernel_seconds() {
  struct timespec now {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class RealClock final : public Clock {
 public:
  Seconds now() override { return Seconds{kernel_seconds() - begun_}; }
  void charge(Seconds) override {}

 private:
  double begun_ = kernel_seconds();
};

std::string file_label(const SessionWorld& world) { return world.label.empty() ? "-" : world.label; }

// One ledger a world and node, shared by the processes of the job: made by whoever comes first.
class MappedLedger {
 public:
  MappedLedger(const Session& session, const SessionWorld& world) {
    const auto path = session.directory + "/" + file_label(world) + ".ledger";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(memory::LedgerPage)) != 0)
      throw Error(Code::failed, path + ": the ledger cannot be made: " + std::strerror(errno));
    map_ = mmap(nullptr, sizeof(memory::LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map_ == MAP_FAILED) throw Error(Code::failed, path + ": the ledger cannot be mapped");
  }
  ~MappedLedger() { munmap(map_, sizeof(memory::LedgerPage)); }
  MappedLedger(const MappedLedger&) = delete;
  MappedLedger& operator=(const MappedLedger&) = delete;
  [[nodiscard]] memory::LedgerPage& page() const { return *static_cast<memory::LedgerPage*>(map_); }

 private:
  void* map_;
};

// Everything that a world's pointers point to. Sides that only one backend has stay empty in the other.
struct Parts {
  Parts(const Session& session, const SessionWorld& world, const std::string& journal_path)
      : machine(world.machine), page(session, world), ledger(page.page(), world.budget), journal(journal_path) {
    const auto initiator = machine.domains()[world.domain].initiator;
    if (session.backend == Backend::virtual_time) {
      simulated = std::make_unique<sim::VirtualMachine>(machine, initiator, world.cores, chunks, ledger);
    } else {
      clock = std::make_unique<RealClock>();
      backing = std::make_unique<memory::NumaBacking>(machine, chunks);
      mover = std::make_unique<transfer::NumaMover>(machine, chunks, ledger, *clock,
                                                    [] { ++observe::t_thread.inside; });
    }
  }
  machine::Machine machine;
  memory::ChunkTable chunks;
  MappedLedger page;
  memory::Ledger ledger;
  Journal journal;
  std::unique_ptr<sim::VirtualMachine> simulated;
  std::unique_ptr<RealClock> clock;
  std::unique_ptr<memory::NumaBacking> backing;
  std::unique_ptr<transfer::NumaMover> mover;
  std::unique_ptr<observe::SamplingCollector> sampled;
  std::unique_ptr<observe::ExactCollector> exact;
  std::unique_ptr<strategy::Policy> policy;
  std::unique_ptr<observe::IntervalCollector> watched;
};

// LABEL.PROCESS.N.journal: one process may become several programs, one after another.
std::string journal_path(const Session& session, const SessionWorld& world) {
  for (int n = 0;; ++n) {
    auto path = session.directory + "/" + file_label(world) + "." + std::to_string(getpid()) + "." +
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

profile::RunRecord run_record(const Session& session, const SessionWorld& world, InitiatorId initiator,
                              const sim::ProgramIdentity& program) {
  profile::RunRecord run;
  run.process = program.process;
  run.parent = program.parent;
  run.started_unix_ns = program.started_unix_ns;
  run.host = program.host;
  run.program = program.program;
  run.arguments = program.arguments;
  run.backend = session.backend == Backend::real ? "real" : "virtual";
  run.mode = session.mode;
  run.planner = world.planner;
  run.budget = world.budget_text;
  run.initiator = initiator;
  run.cores = world.cores;
  run.sample_interval = session.sample_interval;
  run.core_time_fitted = world.core_time_fitted;
  return run;
}

}  // namespace

sim::ProgramIdentity this_program() {
  sim::ProgramIdentity identity;
  identity.process = static_cast<std::uint32_t>(getpid());
  identity.parent = static_cast<std::uint32_t>(getppid());
  struct timespec now {};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  identity.started_unix_ns = std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  identity.host = host;
  char program[4096] = "";
  if (readlink("/proc/self/exe", program, sizeof program - 1) > 0) identity.program = program;
  identity.arguments = own_arguments();
  return identity;
}

BuiltWorld build_world(const Session& session, const SessionWorld& world, bool accesses_followed,
                       const sim::ProgramIdentity& program) {
  auto parts = std::make_shared<Parts>(session, world, journal_path(session, world));
  const auto initiator = parts->machine.domains()[world.domain].initiator;
  BlobWriter blob;
  const auto write = [&](profile::RecordType type, auto&& encode) {
    blob.clear();
    encode(blob);
    parts->journal.append(static_cast<std::uint16_t>(type), blob.bytes());
  };
  write(profile::RecordType::run,
        [&](BlobWriter& out) { profile::encode(out, run_record(session, world, initiator, program)); });
  write(profile::RecordType::machine, [&](BlobWriter& out) { parts->machine.to_blob(out); });
  write(profile::RecordType::calibration, [&](BlobWriter& out) { world.calibration.to_blob(out); });

  BuiltWorld built;
  auto& given = built.parts;
  given.label = world.label;
  given.machine = &parts->machine;
  given.initiator = initiator;
  given.cores = world.cores;
  given.budget = world.budget;
  given.budget_text = world.budget_text;
  given.steering.planner = world.planner;
  given.steering.plan = world.plan;
  given.steering.better_plan = world.plan.has_value() && world.planner != k_given_plan;
  given.steering.hints = world.hints;
  given.steering.learn_iterations = world.learn_iterations;
  given.steering.record_only = world.record_only;
  // On a real machine nothing is touched before it is known what for: the iteration that is learned from is what
  // the run is compared with.
  given.steering.learn_at_home = parts->simulated == nullptr;
  given.steering.keep_exact = world.keep_exact;
  given.calibration = world.calibration;
  given.sample_interval = session.sample_interval;
  given.chunks = &parts->chunks;
  given.ledger = &parts->ledger;
  given.journal = &parts->journal;
  if (accesses_followed) {
    parts->sampled = std::make_unique<observe::SamplingCollector>(parts->machine, initiator, world.cores,
                                                                  parts->chunks, session.sample_interval);
    given.sampled = parts->sampled.get();
    built.sinks.push_back(parts->sampled.get());
  }
  if (auto* machine = parts->simulated.get()) {
    if (world.free_moves) machine->make_copies_free();
    if (world.planner == strategy::k_cache_mode) {
      const auto fast = parts->machine.fastest_first(world.domain).front();
      machine->cache_mode(world.domain, std::min(world.budget[fast], parts->machine.place(fast).capacity));
      given.steering.planner = "slow-only";
    }
    parts->policy = strategy::make_policy(world.planner);
    if (parts->policy) {
      parts->watched = std::make_unique<observe::IntervalCollector>(
          parts->machine, initiator, world.cores, parts->chunks, *machine, parts->policy->needs().sample_period);
      given.policy = parts->policy.get();
      given.watched = parts->watched.get();
      built.sinks.push_back(parts->watched.get());
    }
    parts->exact =
        std::make_unique<observe::ExactCollector>(parts->machine, initiator, world.cores, parts->chunks);
    given.exact = parts->exact.get();
    built.sinks.push_back(parts->exact.get());
    built.sinks.push_back(machine);
    built.thread_clocks = machine;
    given.clock = machine;
    given.backing = machine;
    given.mover = machine;
    given.core_times = world.core_times;
    given.instructions_take = [machine, &of = *parts](Seconds time) {
      machine->set_instruction_time(time);
      of.exact->set_instruction_time(time);
      if (of.sampled) of.sampled->set_instruction_time(time);
    };
    given.totals = [machine] { return totals_of(machine->account()); };
  } else {
    given.clock = parts->clock.get();
    given.backing = parts->backing.get();
    given.mover = parts->mover.get();
  }
  given.owner = std::move(parts);
  return built;
}

}  // namespace terrace::runtime
