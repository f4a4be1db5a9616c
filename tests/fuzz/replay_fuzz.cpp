// Fuzzes replays as a whole: a recording whose checksums are right and which says anything drives the runtime, two
// simulated configurations that learn and plan, and their journals; it ends or throws terrace::Error.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "machine/example.hpp"
#include "recording_input.hpp"
#include "runtime/replay/replay.hpp"

namespace {

using namespace terrace;

std::string make_folder() {
  std::string name = "/dev/shm/replay-fuzz-XXXXXX";
  if (!mkdtemp(name.data())) std::abort();
  return name;
}

runtime::SessionConfiguration make_configuration(const machine::Machine& machine, const char* label,
                                                 const char* planner) {
  runtime::SessionConfiguration configuration{label, machine};
  configuration.planner = planner;
  configuration.budget.assign(machine.places().size(), Bytes{1 << 30});
  configuration.budget.front() = Bytes{1 << 20};
  configuration.calibration.places.resize(machine.places().size(), {1e9, 1, 1});
  configuration.keep_exact = true;
  return configuration;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string folder = make_folder();
  static const machine::Machine machine = machine::Machine(machine::example_parts());
  runtime::Session session;
  session.mode = "replay";
  session.backend = runtime::Backend::virtual_time;
  session.directory = folder;
  session.sample_interval = Seconds{1e-6};
  session.configurations = {make_configuration(machine, "a", "auto"),
                            make_configuration(machine, "b", "first-touch")};
  auto header = sim::example_header();
  header.caches = sim::cache_shape(machine, machine.domains().front().initiator);
  const auto file = sim::recording_of({reinterpret_cast<const std::byte*>(data), size}, header);
  try {
    runtime::replay(sim::index_recording(file).processes.front(), session);
  } catch (const Error&) {
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry.path());
  return 0;
}
