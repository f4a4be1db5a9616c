// Tests how much may be reserved under a limit on the address space.
#include "core/address_space.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

namespace terrace {
namespace {

constexpr std::uint64_t k_mib = 1ULL << 20;

std::uint64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * 4096;
}

// Limits the address space during a test to its current size plus the given bytes.
class Limit {
 public:
  explicit Limit(std::uint64_t beyond) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit now{address_space() + beyond, before_.rlim_max};
    is_set_ = setrlimit(RLIMIT_AS, &now) == 0;
  }
  ~Limit() { setrlimit(RLIMIT_AS, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  [[nodiscard]] bool is_set() const { return is_set_; }

 private:
  rlimit before_{};
  bool is_set_ = false;
};

TEST(AddressSpace, NoLimit_AllIsReservable) {
  if (address_space_limit()) GTEST_SKIP() << "there is a limit";
  EXPECT_FALSE(address_space_left());
  EXPECT_EQ(reservable(Bytes{1ULL << 40}).value, 1ULL << 40);
}

TEST(AddressSpace, Limit_AQuarterIsReservable) {
  const Limit limit(4096 * k_mib);
  ASSERT_TRUE(limit.is_set());
  const auto most = reservable(Bytes{1ULL << 40}).value;
  EXPECT_LE(most, 1024 * k_mib);
  EXPECT_GE(most, 960 * k_mib);
  EXPECT_EQ(reservable(Bytes{k_mib}).value, k_mib);
}

TEST(AddressSpace, LittleLeft_NothingIsReservable) {
  const Limit limit(400 * k_mib);
  ASSERT_TRUE(limit.is_set());
  EXPECT_EQ(reservable(Bytes{1ULL << 40}).value, 0U);
}

}  // namespace
}  // namespace terrace
