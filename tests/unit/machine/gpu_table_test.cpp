// Tests [[gpu]] in machine files: the shipped GPU has its paper's figures and round-trips, and each violation of
// the schema gives one error line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {
namespace {

std::string shipped_text() {
  std::ifstream in(TERRACE_SOURCE_DIR "/machines/gtx480-ddr4.toml");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string with(std::string text, const std::string& what, const std::string& instead) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), instead);
}

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_machine(text, "x.toml"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "none";
}

// Removes the section that begins with `head`, up to the next empty line.
std::string without(std::string text, const std::string& head) {
  const auto at = text.rfind(head);
  EXPECT_NE(at, std::string::npos) << head;
  return text.erase(at, text.find("\n\n", at) - at);
}

// Agarwal et al., table I and section III-A.
TEST(GpuTable, ShippedGpu_HasFiguresOfItsPaper) {
  const auto machine = parse_machine(shipped_text(), "x.toml");
  ASSERT_EQ(machine.parts().gpus.size(), 1U);
  const auto& gpu = machine.parts().gpus[0];
  EXPECT_EQ(gpu.processors, 15U);
  EXPECT_EQ(gpu.hertz, 1.4e9);
  EXPECT_EQ(gpu.l1.bytes, 16U << 10);
  EXPECT_EQ(gpu.l2.bytes, 128U << 10);
  EXPECT_EQ(gpu.l2.mshrs, 128U);
  EXPECT_EQ(gpu.shootdown, 100U);
  EXPECT_EQ(gpu.page_copies, 4U);
  EXPECT_EQ(gpu.fault, 28'000U);
  EXPECT_EQ(gpu.fault_batch, 256U);
  ASSERT_EQ(gpu.memories.size(), 2U);
  const auto& [own, beyond] = std::pair(gpu.memories[0], gpu.memories[1]);
  EXPECT_EQ(machine.place(own.place).name, "gddr");
  EXPECT_EQ(own.channels, 8U);
  EXPECT_EQ(own.bytes_per_second, 200e9);
  EXPECT_EQ(beyond.channels, 4U);
  EXPECT_EQ(beyond.bytes_per_second, 80e9);
  EXPECT_EQ(beyond.link_latency, 100U);
  for (const auto& memory : gpu.memories) {
    EXPECT_EQ(memory.row_to_column, 12U);
    EXPECT_EQ(memory.precharge, 12U);
    EXPECT_EQ(memory.row_cycle, 40U);
    EXPECT_EQ(memory.read_latency, 12U);
    EXPECT_EQ(memory.write_latency, 12U);
  }
  // The local memory is the fast one; data are initially in the other.
  EXPECT_EQ(machine.fastest_first(0).front(), own.place);
  EXPECT_EQ(machine.home(0), beyond.place);
}

TEST(GpuTable, Text_RoundTrips) {
  auto text = with(shipped_text(), "scheduler = \"greedy-then-oldest\"", "scheduler = \"round-robin\"");
  text = with(text, "link_latency = 100", "link_bandwidth = \"12.5GB/s\"\nlink_latency = 77");
  text = with(text, "read = \"80GB/s\"\nwrite = \"80GB/s\"", "read = \"12.5GB/s\"\nwrite = \"12.5GB/s\"");
  text = with(text, "shootdown_drains = false", "shootdown_drains = true\nsectored = true");
  const auto machine = parse_machine(text, "x.toml");
  const auto written = format_machine_file(machine);
  EXPECT_NE(written.find("[[gpu]]\ninitiator = \"gpu\"\nclock = \"1.4GHz\"\nprocessors = 15\n"), std::string::npos)
      << written;
  const auto again = parse_machine(written, "again.toml");
  EXPECT_EQ(format_machine_file(again), written);
  const auto& gpu = again.parts().gpus.at(0);
  EXPECT_EQ(gpu.scheduler, WarpScheduler::round_robin);
  EXPECT_TRUE(gpu.shootdown_drains);
  EXPECT_TRUE(gpu.sectored);
  EXPECT_EQ(gpu.memories.at(1).link_bytes_per_second, 12.5e9);
  EXPECT_EQ(gpu.memories.at(1).link_latency, 77U);
}

TEST(GpuTable, InvalidGpus_AreRefused) {
  const auto text = shipped_text();
  EXPECT_NE(complaint(with(text, "schedulers = 2", "schedulers = 3"))
                .find("gpu.schedulers: warps are divided among 1, 2 or 4 of them"),
            std::string::npos);
  EXPECT_NE(
      complaint(with(text, "\"greedy-then-oldest\"", "\"lottery\"")).find("gpu.scheduler: 'lottery' is none"),
      std::string::npos);
  EXPECT_NE(complaint(with(text, "page = \"4KiB\"", "page = \"5KiB\"")).find("gpu.page: 5KiB is no power of two"),
            std::string::npos);
  EXPECT_NE(complaint(with(text, "size = \"16KiB\"", "size = \"100B\"")).find("no multiple of a line of 128B"),
            std::string::npos);
  EXPECT_NE(complaint(with(text, "place = \"ddr\"\nchannels", "place = \"gddr\"\nchannels"))
                .find("a second memory of this place"),
            std::string::npos);
  const auto one = without(text, "[[gpu.memory]]");
  EXPECT_NE(complaint(one).find("gpu.memory: 1 stated; the simulator needs two: the GPU's own first, then the one "
                                "beyond the link"),
            std::string::npos)
      << complaint(one);
  EXPECT_NE(complaint(without(one, "[[gpu.memory]]")).find("gpu.memory: 0 stated; the simulator needs two"),
            std::string::npos);
  EXPECT_NE(complaint(text + "\n[[gpu.memory]]\nplace = \"ddr\"\n").find("gpu.memory: 3 stated"),
            std::string::npos);
  EXPECT_NE(complaint(with(text, "walkers = 64", "walker = 64")).find("walker"), std::string::npos);
  EXPECT_NE(
      complaint(with(text, "instruction_latency = 8", "instruction_latency = 64")).find("instruction_latency"),
      std::string::npos);
}

// The bandwidth of a memory is stated in the GPU's path, too.
TEST(GpuTable, ContradictingBandwidths_AreRefused) {
  const auto text = shipped_text();
  const auto ends_with = [](const std::string& said, const std::string& end) { return said.ends_with(end); };
  EXPECT_PRED2(ends_with, complaint(with(text, "read = \"80GB/s\"", "read = \"60GB/s\"")),
               "gpu.memory.bandwidth: 80GB/s, but the [[path]] from 'gpu' to 'ddr' has read = \"60GB/s\"; state "
               "the same in both");
  EXPECT_PRED2(ends_with, complaint(with(text, "write = \"200GB/s\"", "write = \"210GB/s\"")),
               "200GB/s, but the [[path]] from 'gpu' to 'gddr' has write = \"210GB/s\"; state the same in both");
  EXPECT_PRED2(ends_with,
               complaint(with(text, "link_latency = 100", "link_bandwidth = \"32GB/s\"\nlink_latency = 1")),
               "gpu.memory.link_bandwidth: 32GB/s, but the [[path]] from 'gpu' to 'ddr' has read = \"80GB/s\"; "
               "state the same in both");
  // A link without limit, and a bandwidth within the rounding tolerance.
  EXPECT_EQ(complaint(with(text, "link_latency = 100", "link_bandwidth = \"90GB/s\"\nlink_latency = 1")), "none");
  EXPECT_EQ(complaint(with(text, "read = \"80GB/s\"", "read = \"79.6GB/s\"")), "none");
}

}  // namespace
}  // namespace terrace::machine
