// The arithmetic of the time law. See time_law.hpp.
#include "sim/time_law.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace terrace::sim {

double Demand::longest() const {
  double longest = core + exposed;
  for (const auto seconds : busy) longest = std::max(longest, seconds);
  return longest;
}

Speeds share(const Demand& demand, const CopyDemand& copy) {
  constexpr double k_half = 0.5;
  const auto longest = demand.longest();
  Speeds speeds;
  speeds.program = longest > 0 ? 1 / longest : std::numeric_limits<double>::infinity();
  speeds.copy = copy.rate;
  struct Shared {
    double program;  // seconds a stretch
    double copy;     // seconds a byte
  };
  const std::array<Shared, 2> shared{Shared{demand.busy[copy.from], copy.from_byte},
                                     Shared{demand.busy[copy.to], copy.to_byte}};
  // First what the program may count on: half of each place, and what the copy could not use even alone. Then the
  // copy takes what that leaves, and the program what the copy leaves.
  auto sure = speeds.program;
  for (const auto& at : shared)
    if (at.program > 0) sure = std::min(sure, std::max(k_half, 1 - copy.rate * at.copy) / at.program);
  for (const auto& at : shared)
    if (at.program > 0) speeds.copy = std::min(speeds.copy, std::max(0.0, 1 - sure * at.program) / at.copy);
  for (const auto& at : shared)
    if (at.program > 0) speeds.program = std::min(speeds.program, (1 - speeds.copy * at.copy) / at.program);
  return speeds;
}

TimeLaw::TimeLaw(const machine::Machine& machine, machine::InitiatorId initiator, double cores)
    : machine_(machine),
      cost_(machine, initiator, cores),
      view_(machine, initiator),
      line_(static_cast<double>(machine.parts().line.value)) {}

void TimeLaw::price(Seconds core, const Traffic& by_place, Demand& demand) const {
  demand.core = core.value;
  demand.exposed = 0;
  demand.busy.assign(view_.places(), 0);
  for (std::size_t i = 0; i < view_.places(); ++i) {
    const auto& traffic = by_place[i];
    const auto& path = view_.path(static_cast<machine::PlaceId>(i));
    demand.exposed += cost_.exposure(traffic) * path.latency.value;
    demand.busy[i] = static_cast<double>(traffic.read()) * line_ / path.read.value +
                     static_cast<double>(traffic.written) * line_ / path.write.value;
  }
}

CopyDemand TimeLaw::copy(machine::PlaceId from, machine::PlaceId to) const {
  CopyDemand copy{from, to, 0, 1 / view_.path(from).read.value, 1 / view_.path(to).write.value};
  copy.rate =
      std::min({machine_.copy_bandwidth(from, to).value, view_.path(from).read.value, view_.path(to).write.value});
  return copy;
}

}  // namespace terrace::sim
