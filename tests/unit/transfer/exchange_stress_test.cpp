// Runs the stress of exchange_stress.hpp for some seconds, with one copying thread and with several.
#include "exchange_stress.hpp"

#include <gtest/gtest.h>

#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

TEST(ExchangeStress, ConcurrentAccess_LosesNoWrite) {
  if (!Userfault().is_available()) GTEST_SKIP() << "this system does not let pages be moved";
  for (const std::size_t copiers : {1, 3}) {
    const auto counts = tests::ExchangeStress(copiers).run(std::chrono::milliseconds(2500));
    EXPECT_EQ(counts.lost, 0u) << copiers;
    EXPECT_GT(counts.exchanges, 0u) << copiers;
    EXPECT_GT(counts.increments, 0u) << copiers;
    EXPECT_GT(counts.calls, 0u) << copiers;
  }
}

}  // namespace
}  // namespace terrace::transfer
