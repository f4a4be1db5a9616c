// Tests every shipped machine file in virtual time: STREAM reaches each place's bandwidth (or what the latency
// allows), a chase its latency, both within 2 %, and both follow the file. Instructions take no time here: they
// would show between a core's lines.
#include <gtest/gtest.h>

#include "machine/file/machine_file.hpp"
#include "world.hpp"

namespace terrace::sim {
namespace {

class ShippedMachine : public testing::TestWithParam<std::string> {
 protected:
  static machine::Machine read() {
    auto parts = machine::read_machine_file(machine::find_machine(GetParam())).parts();
    for (auto& initiator : parts.initiators) initiator.instruction_time = {};
    return machine::Machine(parts);
  }
};

// Returns the lines per second of a kernel's pass over arrays on `place`, by all cores of the initiator.
double stream_bandwidth(const machine::Machine& machine, InitiatorId initiator, PlaceId place) {
  TestWorld world(machine, {}, machine.initiators()[initiator].cores, initiator);
  const auto array = world.add_array(50000, place);
  SyntheticGenerator program(world.virtual_machine, machine.parts().line);
  program.stream(StreamKernel::sum, std::span(&array, 1));
  program.flush();
  return 50000.0 * static_cast<double>(machine.parts().line.value) / world.now();
}

double chase_latency(const machine::Machine& machine, InitiatorId initiator, PlaceId place) {
  TestWorld world(machine, {}, 1, initiator);
  const auto array = world.add_array(50000, place);
  SyntheticGenerator program(world.virtual_machine, machine.parts().line);
  program.chase(array, 20000);
  program.flush();
  return world.now() / 20000;
}

// Returns the path's bandwidth, or what all cores' lines in flight yield at its latency (Little's law).
double reachable(const machine::Machine& machine, const machine::Path& path) {
  const auto& initiator = machine.initiators()[path.initiator];
  const auto lines = initiator.prefetch_mlp * initiator.cores;
  return std::min(path.read.value, lines * static_cast<double>(machine.parts().line.value) / path.latency.value);
}

TEST_P(ShippedMachine, StreamAndChase_ReachEachPlacesBandwidthAndLatency) {
  const auto machine = read();
  for (const auto& path : machine.parts().paths) {
    const auto& name = machine.place(path.place).name;
    EXPECT_NEAR(stream_bandwidth(machine, path.initiator, path.place) / reachable(machine, path), 1, 0.02) << name;
    EXPECT_NEAR(chase_latency(machine, path.initiator, path.place) / path.latency.value, 1, 0.02) << name;
  }
}

TEST_P(ShippedMachine, ChangedFigures_ChangeTimesInProportion) {
  const auto machine = read();
  auto parts = machine.parts();
  for (auto& path : parts.paths) {
    path.read.value /= 3;
    path.write.value /= 3;
    path.latency.value *= 1.5;
  }
  parts.copies.clear();
  const machine::Machine slower(parts);
  for (const auto& path : machine.parts().paths) {
    const auto slower_path = slower.path(path.initiator, path.place);
    EXPECT_NEAR(stream_bandwidth(machine, path.initiator, path.place) /
                    stream_bandwidth(slower, path.initiator, path.place),
                reachable(machine, path) / reachable(slower, slower_path), 0.06);
    EXPECT_NEAR(
        chase_latency(slower, path.initiator, path.place) / chase_latency(machine, path.initiator, path.place),
        1.5, 0.03);
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& parameter) {
  auto name = parameter.param;
  for (auto& letter : name)
    if (letter == '-' || letter == '.') letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedMachine, testing::ValuesIn(machine::shipped_machines()), test_name);

}  // namespace
}  // namespace terrace::sim
