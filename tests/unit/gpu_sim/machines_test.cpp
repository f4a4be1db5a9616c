// Tests the shipped machine files with a [[gpu]] in virtual time: a stream reaches the bandwidth of memory and
// link, and a chase takes the latency that the file states.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "conservation.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "machine/file/machine_file.hpp"
#include "strategy/tiering/touch_policy.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_ctas = 4000;   // of a stream: 16 MiB, more than twice what any GPU has in flight
constexpr std::int32_t k_steps = 1000;  // of a chase

class ShippedGpu : public testing::TestWithParam<std::string> {
 protected:
  machine::Machine machine_ = machine::read_machine_file(machine::find_machine(GetParam()));
  const machine::Gpu& gpu_ = machine_.parts().gpus.front();

  static RunCounts run(const StoredTrace& trace, const machine::Gpu& gpu, std::uint32_t memory) {
    Replay replay(trace);
    FractionPagePlacement pages(memory == 0 ? 1 : 0);
    return Simulator(gpu, replay, pages, {k_all, k_all}).run();
  }
  // From the kernel's begin to its end.
  [[nodiscard]] double stream_rate(const StoredTrace& trace, std::uint32_t memory) const {
    auto counts = run(trace, gpu_, memory);
    const auto& kernel = counts.kernels.front();
    counts.cycles = kernel.end - kernel.begin;
    return bytes_per_second(counts, gpu_, memory);
  }
};

TEST_P(ShippedGpu, GpuSection_AgreesWithTheMachinesPaths) {
  ASSERT_EQ(gpu_.memories.size(), 2U);
  EXPECT_EQ(machine_.fastest_first(0).front(), gpu_.memories[0].place);
  EXPECT_EQ(machine_.home(0), gpu_.memories[1].place);
  for (const auto& memory : gpu_.memories) {
    const auto& path = machine_.path(gpu_.initiator, memory.place);
    EXPECT_EQ(path.read.value, memory.reached_bytes_per_second());
    EXPECT_EQ(path.write.value, memory.reached_bytes_per_second());
    EXPECT_EQ(machine_.place(memory.place).granule.value, gpu_.page_bytes);
  }
  const auto& initiator = machine_.initiators()[gpu_.initiator];
  EXPECT_EQ(initiator.cores, gpu_.processors);
  EXPECT_EQ(initiator.prefetch_mlp, gpu_.l1.mshrs);
}

// Returns the bandwidth without refresh, or what the L2 cache's misses in flight yield.
double most_of(const machine::Gpu& gpu, const machine::GpuMemory& memory) {
  const auto left = 1 - static_cast<double>(memory.refresh) / memory.refresh_interval;
  const auto cycles =
      gpu.l2.latency + (memory.row_to_column + memory.read_latency) * gpu.hertz / memory.command_hertz;
  const auto on_the_way = static_cast<double>(memory.channels) * gpu.l2.mshrs * k_line_bytes * gpu.hertz / cycles;
  return std::min({memory.bytes_per_second * left, memory.reached_bytes_per_second(), on_the_way});
}

TEST_P(ShippedGpu, Streams_ReachTheBandwidthOfMemoryAndLink) {
  const auto trace = streaming(k_ctas);
  for (const std::uint32_t memory : {0U, 1U}) {
    const auto& of = gpu_.memories[memory];
    const auto reached = stream_rate(trace, memory) / most_of(gpu_, of);
    const auto name = machine_.place(of.place).name;
    RecordProperty(name, std::to_string(reached));
    EXPECT_GT(reached, 0.80) << name;
    EXPECT_LE(reached, 1.0) << name;
  }
}

TEST_P(ShippedGpu, Chases_TakeTheStatedLatency) {
  const auto trace = chase(1 << 14, k_steps);
  auto gpu = gpu_;
  gpu.l1_tlb_entries = 4096;  // no TLB misses
  gpu.walk_latency = gpu.l2_tlb_latency = 0;
  for (const std::uint32_t memory : {0U, 1U}) {
    const auto counts = run(trace, gpu, memory);
    const auto& kernel = counts.kernels.front();
    const auto step = static_cast<double>(kernel.end - kernel.begin) / k_steps / gpu_.hertz;
    const auto place = gpu_.memories[memory].place;
    const auto stated = machine_.path(gpu_.initiator, place).latency.value;
    RecordProperty(machine_.place(place).name, std::to_string(step * 1e9));
    EXPECT_NEAR(step / stated, 1, 0.1) << machine_.place(place).name;
  }
}

TEST_P(ShippedGpu, MovedPages_AreConserved) {
  const auto trace = mixed(3);
  Replay replay(trace);
  TieringPolicyAdapter rules(gpu_, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{1, 4, false}),
                             k_all);
  const auto counts = Simulator(gpu_, replay, rules, {k_all, k_all}).run();
  expect_conserved(counts, instructions_of(trace), gpu_.page_bytes);
  EXPECT_GT(counts.mover.moved_pages, 0U);
}

std::vector<std::string> shipped_gpus() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TERRACE_SOURCE_DIR "/machines"))
    if (entry.path().extension() == ".toml" && !machine::read_machine_file(entry.path()).parts().gpus.empty())
      names.push_back(entry.path().stem());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedGpu, testing::ValuesIn(shipped_gpus()), [](const auto& parameter) {
  auto name = parameter.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace terrace::gpu_sim
