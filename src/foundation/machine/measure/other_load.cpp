// SPDX-License-Identifier: Apache-2.0
// Reads from /proc/stat how much processor time other programs take while `terrace machine measure` runs. See
// other_load.hpp.
#include "machine/measure/other_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>

#include "machine/discover/system_files.hpp"

namespace terrace::machine {
namespace {

double processor_time_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::map<int, ProcessorTime> parse_processor_times(std::string_view stat, double ticks_per_second) {
  std::map<int, ProcessorTime> times;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupt = 0, soft = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> waiting >> interrupt >> soft;
    if (!words || name.size() < 4 || !name.starts_with("cpu") ||
        !std::isdigit(static_cast<unsigned char>(name[3])))
      continue;
    words >> stolen;
    times[std::stoi(name.substr(3))] = {(user + nice + system + interrupt + soft) / ticks_per_second,
                                        stolen / ticks_per_second};
  }
  return times;
}

TakenProcessors taken_processors(const std::map<int, ProcessorTime>& before,
                                 const std::map<int, ProcessorTime>& after, double seconds,
                                 std::span<const int> measured, double own, double unpinned) {
  TakenProcessors taken{-own, -unpinned, 0};
  for (const auto& [processor, time] : after) {
    const auto begun = before.find(processor);
    if (begun == before.end()) continue;  // the processor came online during the measurement
    const double busy = time.busy - begun->second.busy;
    taken.all += busy;
    if (std::ranges::find(measured, processor) == measured.end()) taken.beyond += busy;
    taken.stolen += time.stolen - begun->second.stolen;
  }
  for (auto* const value : {&taken.all, &taken.beyond, &taken.stolen})
    *value = seconds > 0 ? std::max(0.0, *value / seconds) : 0;
  return taken;
}

OtherLoad::OtherLoad(std::vector<int> measured) : measured_(std::move(measured)) {}

OtherLoad::State OtherLoad::now() {
  const std::chrono::duration<double> clock = std::chrono::steady_clock::now().time_since_epoch();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {parse_processor_times(SystemFiles().text("/proc/stat").value_or(""), ticks), clock.count(),
          processor_time_of(RUSAGE_SELF), processor_time_of(RUSAGE_THREAD)};
}

TakenProcessors OtherLoad::taken() const {
  const auto state = now();
  return taken_processors(begun_.processors, state.processors, state.clock - begun_.clock, measured_,
                          state.own - begun_.own, state.unpinned - begun_.unpinned);
}

}  // namespace terrace::machine
