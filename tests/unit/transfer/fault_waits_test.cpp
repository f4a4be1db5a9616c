// Tests of the sampling of waits in page faults: threads blocked by userfaultfd are counted, sleeping threads are
// not.
#include "transfer/spill/fault_waits.hpp"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/mman.h>

#include <cstdint>
#include <thread>

#include "core/rounding.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

constexpr std::uint64_t k_look = 10'000'000;

TEST(FaultWaits, IsPageFault_LineOfFaultingThread_IsTrue) {
  EXPECT_TRUE(FaultWaits::is_page_fault("-1 0x7ffc2b6f0a70 0x55d0c0ffee11\n"));
  EXPECT_FALSE(FaultWaits::is_page_fault("running\n"));
  EXPECT_FALSE(FaultWaits::is_page_fault("-1 0x0 0x0\n")) << "a thread of the kernel";
  EXPECT_FALSE(FaultWaits::is_page_fault("0 0x3 0x7f 0x1000 0x0 0x0 0x0 0x7ffc2b6f0a70 0x7f1\n")) << "read(2)";
  EXPECT_FALSE(FaultWaits::is_page_fault(""));
}

TEST(FaultWaits, Intervals_AreRegular) {
  FaultWaits waits;
  EXPECT_TRUE(waits.is_due(k_look));
  EXPECT_EQ(waits.sample(k_look), 0U) << "nothing was seen before";
  EXPECT_FALSE(waits.is_due(k_look + 1));
  EXPECT_EQ(waits.due_in_ms(k_look + 1), 10);
  EXPECT_EQ(waits.due_in_ms(2 * k_look - 1), 1);
  EXPECT_TRUE(waits.is_due(2 * k_look));
}

TEST(FaultWaits, Sample_ThreadInPageFault_CountsItsTime) {
  if (!FaultWaits::is_supported()) GTEST_SKIP() << "the system does not say what threads wait for";
  Userfault faults(0);
  if (!faults.is_available()) GTEST_SKIP() << "no userfaultfd";
  void* const page = mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<std::uint64_t>(page);
  ASSERT_EQ(faults.register_range(address, k_page), 0);

  sem_t woken;
  sem_init(&woken, 0, 0);
  std::thread sleeps([&] {
    while (sem_wait(&woken) != 0) {
    }
  });
  FaultWaits waits;
  waits.sample(k_look);
  EXPECT_EQ(waits.sample(2 * k_look), 0U) << "who sleeps is in a system call";

  std::thread touches([&] { *static_cast<volatile char*>(page) = 1; });
  std::uint64_t held = 0;
  while (!faults.next_fault(held)) std::this_thread::yield();
  auto now = 2 * k_look;
  while (waits.sample(now += k_look) == 0) std::this_thread::yield();  // until the thread blocks
  EXPECT_EQ(waits.sample(now += 3 * k_look), 3 * k_look);
  EXPECT_EQ(waits.sample(
                now += k_look, [](const void*, std::uint32_t) { return true; }, nullptr),
            0U)
      << "it is known to wait for something else";
  waits.pause();
  EXPECT_EQ(waits.sample(now += k_look), 0U);

  alignas(k_page) static char zeros[k_page];
  faults.copy(page_down(held), reinterpret_cast<std::uint64_t>(zeros), k_page);
  faults.wake(page_down(held), k_page);
  touches.join();
  sem_post(&woken);
  sleeps.join();
  EXPECT_EQ(waits.sample(now + k_look), 0U);
  munmap(page, k_page);
}

}  // namespace
}  // namespace terrace::transfer
