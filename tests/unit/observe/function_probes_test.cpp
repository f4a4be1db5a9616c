// Probes and samples of this very program, against what it counts itself. Where the kernel lets nobody probe, the
// reason has to be said.
#include "observe/perf/function_probes.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.hpp"

namespace terrace::observe {
namespace {

volatile unsigned g_sum = 0;

__attribute__((noinline, noclone)) void probed(unsigned n) {
  for (unsigned i = 0; i < n; ++i) g_sum = g_sum + i;
}

__attribute__((noinline, noclone)) void other(unsigned n) {
  for (unsigned i = 0; i < n; ++i) g_sum = g_sum ^ i;
}

ProbedFunction in_file(void (*function)(unsigned)) {
  struct Search {
    std::uint64_t address;
    ProbedFunction found;
  } search{reinterpret_cast<std::uint64_t>(function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& in = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const auto low = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD && in.address - low < header.p_memsz)
            in.found = {"/proc/self/exe", in.address - low + header.p_offset};
        }
        return 1;  // the executable is the first
      },
      &search);
  return search.found;
}

TEST(FunctionProbes, SeeEachCallInOrder) {
  if (const auto why = FunctionProbes::lacks(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<ProbedFunction> functions{in_file(probed), in_file(other)};
  FunctionProbes probes(functions, static_cast<int>(gettid()));
  for (int i = 0; i < 100; ++i) {
    probed(10);
    if (i % 4 == 0) other(10);
  }
  const auto events = probes.take();
  ASSERT_EQ(events.size(), 100U + 25);
  EXPECT_TRUE(std::ranges::is_sorted(events, {}, &ProbeEvent::time_ns));
  // Each fourth call of the one is followed by one of the other.
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].function, i % 5 == 1 ? 1U : 0U) << i;
  probes.drop(0);
  probed(10);
  other(10);
  EXPECT_EQ(probes.take().size(), 1U);
  EXPECT_EQ(probes.lost(), 0U);
}

TEST(FunctionProbes, SayWhatCannotBeProbed) {
  if (const auto why = FunctionProbes::lacks(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<ProbedFunction> functions{{"/there/is/no/such/file", 0}};
  try {
    FunctionProbes probes(functions, 0);
    FAIL() << "probed a file that is not there";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/there/is/no/such/file"), std::string::npos);
  }
}

TEST(TimeSampler, FindsWhereTheTimeGoes) {
  std::optional<TimeSampler> sampler;
  try {
    sampler.emplace(static_cast<int>(gettid()), 1e-3);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::vector<std::uint64_t> addresses;
  // Until there are some: how long that takes is the machine's affair.
  while (addresses.size() < 50) {
    probed(1'000'000);
    for (const auto address : sampler->take()) addresses.push_back(address);
  }
  const auto begin = reinterpret_cast<std::uint64_t>(&probed);
  const auto inside = std::ranges::count_if(addresses, [&](auto address) { return address - begin < 256; });
  EXPECT_GT(inside, static_cast<std::ptrdiff_t>(addresses.size() / 2));
}

}  // namespace
}  // namespace terrace::observe
