// Tests files of warps: they round-trip, and a damaged file is rejected with an offset.
#include "gpu_sim/trace/warp_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "core/error.hpp"
#include "traces.hpp"

namespace terrace::gpu_sim {
namespace {

class WarpFile : public testing::Test {
 protected:
  ~WarpFile() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Everything in the file.
  StoredTrace read() const {
    StoredTrace trace;
    WarpFileReader reader(path_);
    for (TraceEvent event; reader.next(event);) {
      if (const auto* allocation = std::get_if<Allocation>(&event)) trace.add(*allocation);
      if (const auto* kernel = std::get_if<Kernel>(&event)) {
        trace.begin(*kernel);
        for (Cta cta; reader.next_cta(cta);) trace.add(cta);
      }
    }
    return trace;
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("warp_file_test." + std::to_string(getpid()) + ".warps");
};

// Random numbers of 32 bits, converted to the type.
class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

Cta random_cta(Random& random, std::uint32_t warps) {
  Cta cta;
  for (std::uint32_t w = 0; w < warps; ++w) {
    WarpSteps warp;
    warp.first_step = static_cast<std::uint32_t>(cta.steps.size());
    warp.first_line = static_cast<std::uint32_t>(cta.lines.size());
    warp.steps = random() % 20;
    warp.after = random() % 3 == 0 ? random() : random() % 5;
    std::uint32_t loads = 0;
    for (std::uint32_t i = 0; i < warp.steps; ++i) {
      Step step;
      step.before = random() % 4 == 0 ? random() : random() % 8;
      step.kind = static_cast<StepKind>(random() % k_step_kinds);
      if (step.kind == StepKind::use && loads == 0) step.kind = StepKind::barrier;
      if (step.kind == StepKind::use) step.back = 1 + random() % std::min(loads, 64U);
      if (is_access(step.kind)) {
        step.lanes = static_cast<std::uint8_t>(1 + random() % 32);
        step.lines = static_cast<std::uint8_t>(1 + random() % 64);
        for (std::uint32_t k = 0; k < step.lines; ++k) cta.lines.emplace_back(random(), 1 + random() % 15);
        if (returns_value(step.kind)) ++loads;
      }
      cta.steps.push_back(step);
    }
    cta.warps.push_back(warp);
  }
  return cta;
}

StoredTrace random_trace(unsigned seed) {
  Random random(seed);
  StoredTrace trace;
  for (int i = 0; i < 5; ++i) {
    trace.add(Allocation{"array " + std::to_string(i), random(), 1 + random()});
    Kernel kernel{"kernel", 1 + random() % 4, 32 * (1 + random() % 3), random() % 64, random() % 4096};
    trace.begin(kernel);
    for (std::uint32_t cta = 0; cta < kernel.ctas; ++cta) trace.add(random_cta(random, kernel.warps()));
  }
  return trace;
}

void write_trace(const StoredTrace& trace, const std::filesystem::path& path) {
  WarpFileWriter writer(path);
  for (const auto& [event, kernel] : trace.events) {
    if (const auto* allocation = std::get_if<Allocation>(&event)) writer.add(*allocation);
    if (!std::holds_alternative<Kernel>(event)) continue;
    writer.begin(trace.kernels[kernel].kernel);
    for (const auto& cta : trace.kernels[kernel].ctas) writer.add(cta);
  }
  writer.finish();
}

void expect_equal(const Cta& a, const Cta& b) {
  ASSERT_EQ(a.warps.size(), b.warps.size());
  for (std::size_t i = 0; i < a.warps.size(); ++i) {
    EXPECT_EQ(a.warps[i].first_step, b.warps[i].first_step);
    EXPECT_EQ(a.warps[i].first_line, b.warps[i].first_line);
    EXPECT_EQ(a.warps[i].steps, b.warps[i].steps);
    EXPECT_EQ(a.warps[i].after, b.warps[i].after);
  }
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].before, b.steps[i].before);
    EXPECT_EQ(a.steps[i].back, b.steps[i].back);
    EXPECT_EQ(a.steps[i].kind, b.steps[i].kind);
    EXPECT_EQ(a.steps[i].lanes, b.steps[i].lanes);
    EXPECT_EQ(a.steps[i].lines, b.steps[i].lines);
  }
  EXPECT_TRUE(a.lines == b.lines);
}

TEST_F(WarpFile, Trace_RoundTrips) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto trace = random_trace(seed);
    write_trace(trace, path_);
    const auto again = read();
    ASSERT_EQ(again.events.size(), trace.events.size());
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const auto* allocation = std::get_if<Allocation>(&trace.events[i].first);
      const auto* read_allocation = std::get_if<Allocation>(&again.events[i].first);
      ASSERT_EQ(allocation == nullptr, read_allocation == nullptr);
      if (allocation == nullptr) continue;
      EXPECT_EQ(allocation->name, read_allocation->name);
      EXPECT_EQ(allocation->address, read_allocation->address);
      EXPECT_EQ(allocation->bytes, read_allocation->bytes);
    }
    ASSERT_EQ(again.kernels.size(), trace.kernels.size());
    for (std::size_t i = 0; i < trace.kernels.size(); ++i) {
      const auto& [kernel, ctas] = trace.kernels[i];
      EXPECT_EQ(again.kernels[i].kernel.name, kernel.name);
      EXPECT_EQ(again.kernels[i].kernel.threads, kernel.threads);
      EXPECT_EQ(again.kernels[i].kernel.registers, kernel.registers);
      EXPECT_EQ(again.kernels[i].kernel.shared_bytes, kernel.shared_bytes);
      ASSERT_EQ(again.kernels[i].ctas.size(), ctas.size());
      for (std::size_t cta = 0; cta < ctas.size(); ++cta) expect_equal(again.kernels[i].ctas[cta], ctas[cta]);
    }
  }
}

// Skipping the CTAs leads to the next kernel.
TEST_F(WarpFile, SkippedCtas_NextKernelFollows) {
  write_trace(random_trace(1), path_);
  WarpFileReader reader(path_);
  int kernels = 0;
  for (TraceEvent event; reader.next(event);)
    if (std::holds_alternative<Kernel>(event)) ++kernels;
  EXPECT_EQ(kernels, 5);
}

TEST_F(WarpFile, TruncatedAnywhere_IsRejected) {
  write_trace(random_trace(2), path_);
  const auto whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 37) {
    write(whole.substr(0, size));
    try {
      read();
      FAIL() << "cut off at " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
      EXPECT_NE(std::string(error.what()).find(path_.string() + ", byte "), std::string::npos) << error.what();
    }
  }
}

TEST_F(WarpFile, Damaged_IsRejected) {
  write_trace(random_trace(3), path_);
  const auto whole = bytes();
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    auto damaged = whole;
    const auto at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write(damaged);
    try {
      read();
      FAIL() << "a bit of byte " << at << " was turned, and nobody noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt) << error.what();
    }
  }
}

// Valid checksums, but content that would take all memory, or make a message of several lines.
TEST_F(WarpFile, ForgedContent_IsRejected) {
  const auto complaint = [&](const std::vector<Allocation>& allocations,
                             const std::string& kernel) -> std::string {
    WarpFileWriter writer(path_);
    for (const auto& allocation : allocations) writer.add(allocation);
    writer.begin({kernel, 1, 32, 0, 0});
    Cta cta;
    cta.warps.resize(1);
    writer.add(cta);
    writer.finish();
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
      return error.what();
    }
    return "none";
  };
  const auto place = path_.string() + ", byte ";
  const auto half = k_max_allocated / 2;
  EXPECT_EQ(complaint({{"x", 0, half}, {"y", half, half}}, "k"), "none");
  EXPECT_EQ(complaint({{"x", 0, std::uint64_t{1} << 56}}, "k"),
            place + "12: allocations of more than 64 GiB: write the trace again");
  EXPECT_NE(complaint({{"x", 0, half}, {"y", half, half + 1}}, "k").find("more than 64 GiB"), std::string::npos);
  EXPECT_EQ(complaint({{"x\ny", 0, 1}}, "k"),
            place + "12: a name that is not printable ASCII: write the trace again");
  EXPECT_EQ(complaint({}, "k\xff"), place + "12: a name that is not printable ASCII: write the trace again");
}

TEST_F(WarpFile, MissingEnd_IsRejected) {
  StoredTrace trace;
  trace.add(Allocation{"x", 4096, 4096});
  write_trace(trace, path_);
  const auto whole = bytes();
  constexpr auto k_end_bytes = 4 * 4 + 1;  // block header and number of CTAs
  write(whole.substr(0, whole.size() - k_end_bytes));
  EXPECT_THROW(read(), Error);
  EXPECT_THROW(WarpFileReader("/nowhere/x.warps"), Error);
  write("something else altogether");
  EXPECT_THROW(read(), Error);
}

// The file is replaced whole or not at all, and the old one stays until then.
TEST_F(WarpFile, Write_ReplacesTheFileAtomically) {
  namespace fs = std::filesystem;
  const auto folder = fs::temp_directory_path() / ("warp_file_test." + std::to_string(getpid()));
  fs::create_directory(folder);
  const auto place = folder / "x.warps";
  const auto link = folder / "link.warps";
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  {
    WarpFileWriter writer(place);
    writer.add(Allocation{"x", 4096, 4096});
    EXPECT_FALSE(fs::exists(place));
  }
  EXPECT_EQ(files(), 0);
  StoredTrace trace;
  trace.add(Allocation{"x", 4096, 4096});
  write_trace(trace, place);
  EXPECT_EQ(files(), 1);
  fs::create_symlink(place, link);
  const auto size = fs::file_size(place);
  trace.add(Allocation{"y", 8192, 4096});
  write_trace(trace, link);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_GT(fs::file_size(place), size);
  EXPECT_EQ(files(), 2);
  // A full disk.
  const auto full = folder / "full.warps";
  fs::create_symlink("/dev/full", full);
  EXPECT_THROW(write_trace(trace, full), Error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(files(), 3);
  std::ofstream(place) << "a letter";
  EXPECT_THROW(write_trace(trace, place), Error);
  EXPECT_EQ(fs::file_size(place), 8U);
  std::ofstream(place, std::ios::trunc).close();
  write_trace(trace, place);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace terrace::gpu_sim
