// Tests the selection of high bandwidth places on machine files of published machines, and interleaved and strict
// allocation on this machine's first node, which stands for several places.
#include "agent/heap/hbw_heap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "machine/file/machine_file.hpp"
#include "quiet_heap.hpp"
#include "support/real_memory.hpp"

namespace terrace::agent {
namespace {

using Names = std::set<std::string>;

Names fast_of(const machine::Machine& machine, DomainId domain) {
  Names names;
  for (const auto place : faster_than_home(machine, domain)) names.insert(machine.place(place).name);
  return names;
}

// Assigns a NUMA node to places of such machines, which have none here.
machine::Machine shipped(const std::string& name) {
  auto parts = machine::read_machine_file(TERRACE_SOURCE_DIR "/machines/" + name + ".toml").parts();
  for (std::size_t i = 0; i < parts.places.size(); ++i) parts.places[i].numa_node = static_cast<int>(i);
  return machine::Machine(parts);
}

TEST(FastPlaces, PublishedMachines_EachDomain_HasTheExpectedPlaces) {
  const auto knl = shipped("knl-7210-flat");
  for (const auto& place : knl.places())
    for (const auto& name : fast_of(knl, place.domain)) EXPECT_EQ(knl.place(*knl.find_place(name)).kind, "hbm");
  EXPECT_FALSE(fast_of(knl, 0).empty());
  const auto xeon = shipped("xeon-max-9480-snc4");
  for (const auto& one : xeon.places()) {
    const auto domain = one.domain;
    const auto faster = faster_than_home(xeon, domain);
    ASSERT_FALSE(faster.empty());
    EXPECT_EQ(xeon.place(faster.front()).kind, "hbm");
    EXPECT_EQ(xeon.place(faster.front()).domain, domain);
  }
}

struct HeapUnderTest {
  HeapUnderTest() : machine(tests::machine_on({0, 0, 0})), ledger(*page, {{16 << 20}, {32 << 20}, {1 << 30}}) {
    heap.emplace(quiet_parts(machine, ledger, counts));
    hbw.emplace(*heap, std::nullopt);
  }
  machine::Machine machine;
  std::unique_ptr<memory::LedgerPage> page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger;
  memory::OrderedCounts counts;
  std::optional<OrderedHeap> heap;
  std::optional<HbwHeap> hbw;
};

HeapUnderTest& living() {
  static auto& all = *new HeapUnderTest;
  return all;
}

using Policy = HbwHeap::Policy;
constexpr std::size_t k_mib = std::size_t{1} << 20;

class HbwHeapTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::uint64_t> held() const {
    std::vector<std::uint64_t> mib;
    for (PlaceId place = 0; place < 3; ++place) mib.push_back(living().ledger.held(place).value / k_mib);
    return mib;
  }
  HbwHeap& heap_ = *living().hbw;
};

using MibByPlace = std::vector<std::uint64_t>;

// p0 and p1 are faster than p2, the home place. All have the same distance.
TEST_F(HbwHeapTest, Allocate_EachPolicy_UsesItsPlaces) {
  EXPECT_EQ(heap_.fast(), (std::vector<PlaceId>{0, 1}));
  void* block = heap_.allocate(Policy::bind_all, 20 * k_mib, 16, false);
  EXPECT_EQ(held(), (MibByPlace{16, 4, 0}));
  EXPECT_EQ(heap_.size_of(block), 20 * k_mib);
  EXPECT_TRUE(heap_.release(block));
  EXPECT_EQ(heap_.allocate(Policy::bind_all, 49 * k_mib, 16, false), nullptr);
  EXPECT_EQ(held(), (MibByPlace{0, 0, 0}));
  block = heap_.allocate(Policy::preferred, 50 * k_mib, 16, false);
  EXPECT_EQ(held(), (MibByPlace{16, 32, 2}));
  EXPECT_TRUE(heap_.release(block));
  // Each place gets half, also for an odd number of pages.
  block = heap_.allocate(Policy::interleave, 20 * k_mib, 16, true);
  EXPECT_EQ(held(), (MibByPlace{10, 10, 0}));
  EXPECT_STREQ(living().heap->where(block), "p0");  // by the node, which all of them have
  EXPECT_TRUE(heap_.release(block));
  block = heap_.allocate(Policy::interleave, 5 * k_page + k_mib, 16, false);
  EXPECT_EQ(living().ledger.held(0).value - living().ledger.held(1).value, k_page);
  EXPECT_TRUE(heap_.release(block));
  EXPECT_EQ(held(), (MibByPlace{0, 0, 0}));
  // Allocation fails if a place lacks capacity for its share.
  EXPECT_EQ(heap_.allocate(Policy::interleave, 40 * k_mib, 16, false), nullptr);
  EXPECT_EQ(held(), (MibByPlace{0, 0, 0}));
  int other = 0;
  EXPECT_FALSE(heap_.release(&other));
  EXPECT_EQ(heap_.size_of(&other), 0U);
}

TEST_F(HbwHeapTest, VerifyPages_MixedRegion_ChecksEveryPage) {
  const tests::Mapping mapping(4 * k_page);
  const int here[] = {0};
  const int blocking_call[] = {1};
  EXPECT_EQ(verify_pages(mapping.address(), 4 * k_page, false, here), PageVerdict::other);
  std::memset(mapping.page(1), 7, k_page);
  EXPECT_EQ(verify_pages(mapping.address() + k_page + 3, k_page - 3, false, here), PageVerdict::fast);
  EXPECT_EQ(verify_pages(mapping.address() + k_page + 3, k_page, false, here), PageVerdict::other);
  EXPECT_EQ(verify_pages(mapping.address(), 4 * k_page, true, blocking_call), PageVerdict::other);
  EXPECT_EQ(verify_pages(mapping.address(), 4 * k_page, false, here), PageVerdict::fast);
  EXPECT_EQ(*mapping.page(1), 7);
  ::munmap(mapping.page(2), k_page);
  EXPECT_EQ(verify_pages(mapping.address(), 4 * k_page, true, here), PageVerdict::not_mapped);
  EXPECT_EQ(verify_pages(mapping.address(), 2 * k_page, false, here), PageVerdict::fast);
}

}  // namespace
}  // namespace terrace::agent
