// Tests the sampler on real rings of this kernel with a software event that every machine has: page faults have
// addresses, and each page of new memory faults once.
#include "observe/perf/memory_sampler.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "core/system_time.hpp"
#include "observe/perf/names/memory_events.hpp"

namespace {

using namespace terrace::observe;

// Pages touched at a time, such that the kernel does not throttle the event: its limit is 100,000 a second, in
// ticks of at most 1/100 s and at least 1/1000 s.
constexpr std::size_t k_few = 64;

PerfEvent page_faults(std::uint64_t period = 1) {
  PerfEvent event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_PAGE_FAULTS;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD;
  event.period = period;
  event.name = "page-faults";
  event.blind_spots = "pages that are there";
  return event;
}

int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }

std::uint64_t now_ns() { return terrace::to_ns(terrace::read_clock(CLOCK_MONOTONIC)); }

// New memory without a resident page.
class Fresh {
 public:
  explicit Fresh(std::size_t pages) : size_(pages * page_) {
    map_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(map_, size_, MADV_NOHUGEPAGE);
  }
  ~Fresh() { munmap(map_, size_); }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  void touch(std::size_t first, std::size_t count) const {
    for (auto i = first; i < first + count; ++i) *static_cast<volatile char*>(map_ + i * page_) = 1;
  }
  [[nodiscard]] std::optional<std::size_t> page_of(std::uint64_t address) const {
    const auto begin = reinterpret_cast<std::uint64_t>(map_);
    if (address < begin || address >= begin + size_) return std::nullopt;
    return (address - begin) / page_;
  }

 private:
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), size_;
  char* map_;
};

class MemorySamplerHere : public testing::Test {
 protected:
  void SetUp() override {
    const PerfEvent events[] = {page_faults()};
    if (const auto reason = MemorySampler::unavailable_reason(events); !reason.empty()) GTEST_SKIP() << reason;
    // Make the test's own memory resident: its faults would be sampled, too.
    samples_.resize(50'000);
    samples_.clear();
  }
  void poll() {
    sampler_.poll(
        [&](std::span<const MemorySample> some) { samples_.insert(samples_.end(), some.begin(), some.end()); });
  }
  // Returns the number of samples of each page.
  [[nodiscard]] std::map<std::size_t, int> pages(const Fresh& memory) const {
    std::map<std::size_t, int> found;
    for (const auto& sample : samples_)
      if (const auto page = memory.page_of(sample.address)) ++found[*page];
    return found;
  }

  MemorySampler sampler_;
  std::vector<MemorySample> samples_;
};

TEST_F(MemorySamplerHere, TouchedPages_EachSampledOnce) {
  const Fresh memory(k_few);
  const PerfEvent events[] = {page_faults()};
  const auto begun = now_ns();
  sampler_.start(events);
  memory.touch(10, 40);
  memory.touch(10, 40);  // they are there now
  poll();
  const auto ended = now_ns();
  const auto found = pages(memory);
  ASSERT_EQ(found.size(), 40U);
  for (const auto& [page, times] : found) {
    EXPECT_TRUE(page >= 10 && page < 50);
    EXPECT_EQ(times, 1);
  }
  for (const auto& sample : samples_) {
    EXPECT_EQ(sample.tid, static_cast<std::uint32_t>(thread_id()));
    EXPECT_TRUE(begun <= sample.time_ns && sample.time_ns <= ended);
    EXPECT_EQ(sample.weight, 1);
    EXPECT_NE(sample.ip, 0U);
  }
  const auto counts = sampler_.counts();
  EXPECT_EQ(counts.samples, samples_.size());
  EXPECT_EQ(counts.lost, 0U);
  EXPECT_EQ(counts.malformed, 0U);
  EXPECT_EQ(sampler_.blind_spots(), "pages that are there");
}

TEST_F(MemorySamplerHere, Period_IsWeight) {
  const Fresh memory(k_few);
  const PerfEvent events[] = {page_faults(4)};
  sampler_.start(events);
  memory.touch(0, k_few);
  poll();
  double weight = 0;
  for (const auto& sample : samples_)
    if (memory.page_of(sample.address)) weight += sample.weight;
  EXPECT_NEAR(weight, k_few, 4);
}

TEST_F(MemorySamplerHere, FullRing_LossIsCounted) {
  // A ring has fewer records than these threads write at the kernel's maximum rate.
  const Fresh memory(20'000);
  const PerfEvent events[] = {page_faults()};
  sampler_.start(events);
  rusage before{}, after{}, last_look{};
  getrusage(RUSAGE_THREAD, &before);
  const auto deadline = now_ns() + 20'000'000'000;
  std::size_t touched = 0;
  // In small steps, each after a tick: the event is not throttled, and the ring is not read.
  for (std::uint64_t last = 0; touched + k_few <= 20'000 && now_ns() < deadline;) {
    if (now_ns() - last < 11'000'000) continue;
    last = now_ns();
    memory.touch(touched, k_few);
    touched += k_few;
    if (touched > 2'500) break;
  }
  getrusage(RUSAGE_THREAD, &after);
  const auto faults = static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt);
  poll();
  memory.touch(touched, 1);  // what was lost is told by the next record
  poll();
  getrusage(RUSAGE_THREAD, &last_look);
  const auto counts = sampler_.counts();
  EXPECT_GT(counts.lost, 0U);
  EXPECT_EQ(counts.throttled, 0U);
  EXPECT_GE(counts.samples + counts.lost, faults);
  EXPECT_LE(counts.samples + counts.lost, static_cast<std::uint64_t>(last_look.ru_minflt - before.ru_minflt) + 1);
}

TEST_F(MemorySamplerHere, OldAndNewThreads_AreSampled) {
  const Fresh early(k_few), late(k_few), brief(k_few);
  std::atomic<int> step{0};
  int tids[2] = {};
  const auto body = [&](int which, const Fresh& memory, int go) {
    tids[which] = thread_id();
    ++step;
    while (step < go) std::this_thread::yield();
    memory.touch(0, k_few);
    ++step;
    while (step < 100) std::this_thread::yield();
  };
  std::thread first(body, 0, std::cref(early), 2);
  while (step < 1) std::this_thread::yield();
  const PerfEvent events[] = {page_faults()};
  sampler_.start(events);
  // A sanitizer may have threads of its own.
  const auto others = sampler_.counts().threads;
  EXPECT_GE(others, 2U);
  step = 2;
  while (step < 3) std::this_thread::yield();
  std::thread second(body, 1, std::cref(late), 5);
  while (step < 4) std::this_thread::yield();
  poll();  // sees it
  EXPECT_EQ(sampler_.counts().threads, others + 1);
  step = 5;
  while (step < 6) std::this_thread::yield();
  step = 100;
  first.join();
  second.join();
  poll();  // what they left is read although they are no more
  EXPECT_EQ(sampler_.counts().threads, others - 1);
  EXPECT_EQ(pages(early).size(), k_few);
  EXPECT_EQ(pages(late).size(), k_few);
  for (const auto& sample : samples_) {
    if (early.page_of(sample.address)) {
      EXPECT_EQ(sample.tid, static_cast<std::uint32_t>(tids[0]));
    }
    if (late.page_of(sample.address)) {
      EXPECT_EQ(sample.tid, static_cast<std::uint32_t>(tids[1]));
    }
  }
}

TEST_F(MemorySamplerHere, ExcludedThread_IsNotSampled) {
  const Fresh memory(k_few);
  sampler_.exclude_thread(thread_id());
  const PerfEvent events[] = {page_faults()};
  sampler_.start(events);
  memory.touch(0, k_few);
  poll();
  EXPECT_TRUE(samples_.empty());
}

TEST_F(MemorySamplerHere, ForkChild_ReadsNothing) {
  const Fresh memory(k_few);
  const PerfEvent events[] = {page_faults()};
  sampler_.start(events);
  memory.touch(0, 10);
  const auto child = fork();
  if (child == 0) {
    memory.touch(10, 10);
    poll();
    const bool nothing = samples_.empty();
    sampler_.stop();
    // It can be started again.
    sampler_.start(events);
    memory.touch(30, 10);
    poll();
    _exit(nothing && pages(memory).size() == 10 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  poll();
  const auto found = pages(memory);
  EXPECT_EQ(found.size(), 10U);
  EXPECT_FALSE(found.contains(15));
}

TEST_F(MemorySamplerHere, Stop_LeavesNoDescriptorOrMapping) {
  const auto files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("perf_event") != std::string::npos ? 1 : 0;
    return count;
  };
  const auto before = files();
  const PerfEvent events[] = {page_faults()};
  sampler_.start(events);
  EXPECT_EQ(files(), before);
  EXPECT_GE(mappings(), 1U);
  sampler_.stop();
  EXPECT_EQ(mappings(), 0U);
  sampler_.start(events);
  poll();
  sampler_.stop();
  EXPECT_EQ(files(), before);
  EXPECT_EQ(mappings(), 0U);
}

// Time samples have no data address: they are no accesses.
TEST_F(MemorySamplerHere, RecordWithoutAddress_IsDropped) {
  PerfEvent clock = page_faults();
  clock.config = PERF_COUNT_SW_CPU_CLOCK;
  clock.period = 1'000'000;
  clock.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
  const PerfEvent events[] = {clock, page_faults()};
  const Fresh memory(k_few);
  sampler_.start(events);
  const auto deadline = now_ns() + 50'000'000;
  while (now_ns() < deadline) {
  }
  memory.touch(0, k_few);
  poll();
  EXPECT_EQ(pages(memory).size(), k_few);
  for (const auto& sample : samples_) EXPECT_NE(sample.address, 0U);
}

TEST(MemorySampler, RefusedEvent_ReasonNamesCall) {
  PerfEvent event = page_faults();
  event.type = 4095;
  event.name = "no/such/";
  const PerfEvent events[] = {event};
  const auto reason = MemorySampler::unavailable_reason(events);
  EXPECT_NE(reason.find("perf_event_open (no/such/)"), std::string::npos) << reason;
  MemorySampler sampler;
  EXPECT_THROW(sampler.start(events), terrace::Error);
  EXPECT_EQ(MemorySampler::unavailable_reason({}), "no event that samples accesses to memory");
  event = page_faults();
  event.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  const PerfEvent unread[] = {event};
  EXPECT_NE(MemorySampler::unavailable_reason(unread).find("a sample field that cannot be decoded"),
            std::string::npos);
  // One available event suffices.
  const PerfEvent some[] = {events[0], page_faults()};
  const PerfEvent alone[] = {page_faults()};
  EXPECT_EQ(MemorySampler::unavailable_reason(some).empty(), MemorySampler::unavailable_reason(alone).empty());
}

// As in containers.
TEST(MemorySampler, SeccompFilter_ReasonNamesCall) {
  const auto child = fork();
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(filter), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(2);
    const PerfEvent events[] = {page_faults()};
    _exit(MemorySampler::unavailable_reason(events) == "perf_event_open (page-faults): Operation not permitted"
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no filters of system calls here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The events of this machine: samples of loads fall into the buffer.
TEST(MemorySampler, RealEvents_SampleAccesses) {
  const auto found = memory_events();
  if (found.events.empty()) GTEST_SKIP() << found.unavailable_reason;
  if (const auto reason = MemorySampler::unavailable_reason(found.events); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<std::uint64_t> data(std::size_t{16} << 20);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = (i * 2654435761U) % data.size();
  MemorySampler sampler;
  sampler.start(found.events);
  std::uint64_t at = 0;
  for (int i = 0; i < 20'000'000; ++i) at = data[at];
  std::size_t inside = 0, all = 0;
  sampler.poll([&](std::span<const MemorySample> some) {
    for (const auto& sample : some) {
      const auto begin = reinterpret_cast<std::uint64_t>(data.data());
      inside += sample.address >= begin && sample.address < begin + 8 * data.size() ? 1 : 0;
      ++all;
    }
  });
  EXPECT_GT(at + inside, 0U);
  EXPECT_GE(2 * inside, all);
}

}  // namespace
