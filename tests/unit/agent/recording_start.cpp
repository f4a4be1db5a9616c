// Replaces start.cpp in tests of the agent, with a recording runtime. TERRACE_SESSION is the file for its lines,
// one per call. TERRACE_TEST_SYMBOLS are symbol files; TERRACE_TEST_SIMULATED enables virtual clocks.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/process.hpp"
#include "core/clock.hpp"
#include "memory/region_space.hpp"
#include "observe/symbols/symbols.hpp"
#include "observe/threads/thread.hpp"
#include "recording_runtime.hpp"

namespace terrace::agent {

namespace {

struct ChargedClock final : Clock {
  Seconds charged;
  Seconds now() override { return charged; }
  void charge(Seconds cost) override {
    charged += cost;
    write_line("charged " + std::to_string(std::lround(cost.value * 1e6)) + "us");
  }
  void write_line(std::string line) const {
    line.push_back('\n');
    [[maybe_unused]] const auto ignored = write(file, line.data(), line.size());
  }
  int file = -1;
};

ChargedClock* g_clock = nullptr;

const char* variable(char** environment, const std::string& name) {
  for (; *environment; ++environment)
    if (std::strncmp(*environment, (name + "=").c_str(), name.size() + 1) == 0)
      return *environment + name.size() + 1;
  return nullptr;
}

void record(const test::RecordedCall& told) {
  using What = test::RecordedCall::What;
  char numbers[128] = "";
  if (told.what == What::added)
    std::snprintf(numbers, sizeof numbers, "added %u %d %llx %llx ", told.id, static_cast<int>(told.kind),
                  static_cast<unsigned long long>(told.low), static_cast<unsigned long long>(told.size));
  else if (told.what == What::removed)
    std::snprintf(numbers, sizeof numbers, "removed %u", told.id);
  g_clock->write_line(numbers + told.name);
}

}  // namespace

Process* start(char** environment) noexcept {
  static Process process;
  // NOLINTBEGIN(bugprone-unhandled-exception-at-new): a test that is out of memory has failed
  g_clock = new ChargedClock;
  g_clock->file = open(variable(environment, "TERRACE_SESSION"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  g_clock->write_line("start " + std::to_string(getpid()));
  process.runtime = test::make_recording_runtime(record).release();
  process.regions = new memory::RegionSpace;
  process.symbols = new observe::SymbolTable;
  // NOLINTEND(bugprone-unhandled-exception-at-new)
  process.clock = g_clock;
  process.simulated = variable(environment, "TERRACE_TEST_SIMULATED") != nullptr;
  process.started_unix_ns = 1'000'000'000'000'000'000;
  if (const char* const list = variable(environment, "TERRACE_TEST_SYMBOLS")) {
    const std::string files = list;
    for (std::size_t at = 0; at < files.size();) {
      const auto end = std::min(files.find(':', at), files.size());
      process.symbols->add_file(files.substr(at, end - at).c_str());
      at = end + 1;
    }
  }
  return &process;
}

void attach_thread() noexcept {
  const observe::RuntimeScope inside;
  g_clock->write_line("attached " + std::to_string(observe::t_thread.number));
}

void detach_thread() noexcept {
  const observe::RuntimeScope inside;
  g_clock->write_line("detached " + std::to_string(observe::t_thread.number));
}

void finish_loops(Process&) noexcept {}
void finish_mpi(Process&) noexcept {}
Process* after_fork() noexcept { return nullptr; }

}  // namespace terrace::agent
