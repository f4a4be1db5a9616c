// SPDX-License-Identifier: Apache-2.0
// Computes the time of a program segment, alone and beside a concurrent copy, for VirtualMachine and its copy
// engine. See time_law.hpp.
#include "sim/engine/time_law.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace terrace::sim {

double Demand::longest(double pace) const {
  double longest = (core + exposed) / pace;
  for (const auto seconds : busy) longest = std::max(longest, seconds);
  return longest;
}

Speeds share(const Demand& demand, const CopyDemand& copy) {
  constexpr double k_half = 0.5;
  constexpr int k_halvings = 52;  // to the last digit of a double
  const auto longest = demand.longest(copy.pace);
  const auto own_pace = longest > 0 ? 1 / longest : std::numeric_limits<double>::infinity();
  struct Shared {
    double program;  // seconds per segment
    double copy;     // seconds per byte
  };
  std::array<Shared, 2> places;
  std::size_t count = 0;
  for (const auto& at :
       {Shared{demand.busy[copy.from], copy.from_byte}, Shared{demand.busy[copy.to], copy.to_byte}})
    if (at.program > 0) places[count++] = at;
  const auto shared = std::span(places).first(count);
  const bool takes_nothing = copy.from_byte == 0 && copy.to_byte == 0;
  if (shared.empty() || takes_nothing) return {own_pace, copy.rate};

  // Returns the speed that each gets from the other's: of every place what the other leaves, or half if that is
  // more.
  const auto program_beside = [&](double rate) {
    auto program = own_pace;
    for (const auto& at : shared) program = std::min(program, std::max(k_half, 1 - rate * at.copy) / at.program);
    return program;
  };
  const auto copy_beside = [&](double program) {
    auto rate = copy.rate;
    for (const auto& at : shared) rate = std::min(rate, std::max(k_half, 1 - program * at.program) / at.copy);
    return rate;
  };
  // The faster the program, the slower the copy, and the more capacity that leaves to the program. The fixed point
  // of the program's speed is between what a copy at full rate leaves and the speed that the program has alone.
  auto low = program_beside(copy.rate);
  if (program_beside(copy_beside(low)) > low) {
    auto high = own_pace;
    for (int i = 0; i < k_halvings; ++i) {
      const auto middle = low + (high - low) / 2;
      (program_beside(copy_beside(middle)) >= middle ? low : high) = middle;
    }
  }
  // Then correct to the last digit: no place works more than all of the time, and no usable capacity is left.
  Speeds speeds{own_pace, copy.rate};
  for (const auto& at : shared) speeds.copy = std::min(speeds.copy, std::max(0.0, 1 - low * at.program) / at.copy);
  for (const auto& at : shared)
    speeds.program = std::min(speeds.program, (1 - speeds.copy * at.copy) / at.program);
  return speeds;
}

TimeLaw::TimeLaw(const machine::Machine& machine, InitiatorId initiator, double cores)
    : machine_(machine),
      initiator_(initiator),
      cores_(cores),
      copier_(machine.copier()),
      cost_(machine, initiator, cores),
      view_(machine, initiator),
      line_(static_cast<double>(machine.parts().line.value)) {}

void TimeLaw::price(Seconds core, const Traffic& by_place, Demand& demand) const {
  demand.core = core.value;
  demand.exposed = 0;
  demand.busy.assign(view_.places(), 0);
  for (std::size_t i = 0; i < view_.places(); ++i) {
    const auto& traffic = by_place[i];
    const auto& path = view_.path(static_cast<PlaceId>(i));
    demand.exposed += exposed(traffic, static_cast<PlaceId>(i));
    demand.busy[i] = static_cast<double>(traffic.read()) * line_ / path.read.value +
                     static_cast<double>(traffic.written) * line_ / path.write.value;
  }
}

double TimeLaw::free_cores(std::uint32_t threads) const {
  return std::max(0.0, machine_.initiators()[initiator_].cores - cores_ * threads);
}

double TimeLaw::shared_pace(std::uint32_t threads) const {
  const double cores = machine_.initiators()[initiator_].cores;
  return cores / (std::max(cores, cores_ * threads) + 1);
}

CopyDemand TimeLaw::copy(PlaceId from, PlaceId to, Bytes size, std::uint32_t threads) const {
  if (free_copies_) return {from, to, std::numeric_limits<double>::max(), 0, 0};
  CopyDemand copy{from, to, 0, 1 / view_.path(from).read.value, 1 / view_.path(to).write.value};
  const auto free = free_cores(threads);
  const auto movers = machine::mover_threads(copier_, machine_.initiators()[initiator_], cores_ * threads);
  copy.rate = machine::copy_rate(machine_, copier_, movers, initiator_, from, to).value;
  const auto bytes = static_cast<double>(size.value);
  if (const auto remapping = machine::remapping_time(copier_, size); remapping.value > 0)
    copy.rate = bytes / (remapping.value + bytes / copy.rate);
  if (copier_.threads > 0 && free < 1) {
    // With more threads than cores no thread had a whole core before: each loses the share of one thread more.
    const auto pace = shared_pace(threads);
    copy.rate *= pace;
    copy.pace = pace * std::max(1.0, cores_ * threads / machine_.initiators()[initiator_].cores);
  }
  return copy;
}

}  // namespace terrace::sim
