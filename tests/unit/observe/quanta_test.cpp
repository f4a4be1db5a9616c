// Tests quanta: their ends and contents, and that their delivery does not change the program's state.
#include <gtest/gtest.h>

#include <cerrno>
#include <cfenv>
#include <map>

#include "observe/threads/thread.hpp"
#include "recording.hpp"

namespace terrace::observe::test {
namespace {

TEST(Quanta, FullQuantum_HasFixedAccesses) {
  auto config = small_config();
  config.quantum_accesses = 100;
  Bench bench(1 << 16, config);
  for (int i = 0; i < 250; ++i) bench.load(bench.as<double>() + i % 4);
  EXPECT_EQ(bench.sink.lengths, (std::vector<std::uint64_t>{100, 100}));
  bench.pipeline->flush();
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.lengths, (std::vector<std::uint64_t>{100, 100, 50}));
  for (int i = 0; i < 100; ++i) bench.load(bench.as<double>());
  EXPECT_EQ(bench.sink.lengths.back(), 100u);
}

TEST(Quanta, FullMissBuffer_EndsQuantum) {
  auto config = small_config();
  config.quantum_accesses = 1 << 30;
  Bench bench(16 << 20, config);
  for (std::size_t at = 0; at < (16 << 20); at += 64) bench.load(bench.as<char>() + at);
  EXPECT_GE(bench.sink.quanta, 4u);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.fetched(), (16u << 20) / 64);
}

TEST(Quanta, AccessesOfSink_AreNotTraced) {
  struct Nosy final : observe::AccessSink {
    void quantum(const observe::Quantum&) override {
      inside = t_thread.inside;
      pipeline->flush();  // asks again while it is being told
      ++calls;
    }
    Pipeline* pipeline = nullptr;
    std::uint32_t inside = 0;
    int calls = 0;
  } sink;
  AddressMap map;
  const auto config = small_config();
  auto shared = make_shared_cache(config);
  Pipeline pipeline(config, *shared, map, sink, 0, nullptr);
  sink.pipeline = &pipeline;
  std::uint64_t word = 0;
  pipeline.access(reinterpret_cast<std::uint64_t>(&word), 8, true, 1);
  pipeline.flush();
  EXPECT_EQ(sink.calls, 1);
  EXPECT_GT(sink.inside, 0u);
  EXPECT_EQ(t_thread.inside, 0u);
}

// A quantum has its libm calls by function, and ends earlier because of them.
TEST(Quanta, LibmCalls_CountedAndEndQuanta) {
  using machine::LibraryFunction;
  auto config = small_config();
  config.quantum_accesses = 100 * observe::k_accesses_per_call;
  Bench bench(65536, config);
  for (int i = 0; i < 250; ++i) bench.pipeline->call(i % 5 == 0 ? LibraryFunction::lgammaf : LibraryFunction::exp);
  EXPECT_EQ(bench.sink.lengths, (std::vector<std::uint64_t>{0, 0}));
  bench.pipeline->flush();
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.quanta, 3u);
  const std::map<std::uint32_t, std::uint64_t> expected{{0, 200}, {machine::k_library_functions - 1, 50}};
  EXPECT_EQ(bench.sink.calls, expected);
  EXPECT_EQ(bench.sink.all_hits() + bench.sink.fetched(), 0u);
  // Half a quantum of calls, half of accesses.
  for (int i = 0; i < 50; ++i) bench.pipeline->call(LibraryFunction::pow);
  for (std::size_t i = 0; i < config.quantum_accesses / 2; ++i) bench.load(bench.as<char>());
  EXPECT_EQ(bench.sink.quanta, 4u);
  EXPECT_EQ(bench.sink.accesses, config.quantum_accesses / 2);
  EXPECT_EQ(bench.sink.calls[static_cast<std::uint32_t>(LibraryFunction::pow)], 50u);
  EXPECT_EQ(bench.pipeline->accesses(), config.quantum_accesses / 2);
}

#if defined(__SSE2__)
// The end of a quantum computes and waits, between two instructions of the program.
TEST(Quanta, QuantumEnd_PreservesErrnoAndFloatingPoint) {
  struct Computing final : observe::AccessSink {
    void quantum(const observe::Quantum&) override {
      errno = EAGAIN;
      volatile double one = 1;
      third = one / 3;  // not exact
    }
    double third = 0;
  } sink;
  AddressMap map;
  auto config = small_config();
  config.quantum_accesses = 1;
  auto shared = make_shared_cache(config);
  Pipeline pipeline(config, *shared, map, sink, 0, nullptr);
  std::fesetround(FE_UPWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  errno = EDOM;
  pipeline.call(machine::LibraryFunction::exp);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
  EXPECT_EQ(sink.third, 0x1.5555555555555p-2);  // rounded to nearest
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
}
#endif

}  // namespace
}  // namespace terrace::observe::test
