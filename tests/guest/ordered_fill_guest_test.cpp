// Tests allocation by intent on NUMA nodes, page by page against the kernel. Skipped outside a guest with two
// nodes or more (tests/guest_bed/vm.py). The expected size and free memory of a place are read from sysfs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "agent/heap/ordered_heap.hpp"
#include "guest4/stress_nodes.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/ordering.hpp"
#include "memory/numa_node.hpp"
#include "support/real_memory.hpp"

namespace terrace::agent {
namespace {

using tests::kernel_nodes;
using FillMode = OrderedHeap::FillMode;

constexpr int k_batch_pages = 512;
// Pages that two processors' lists release at a time (`batch` in /proc/zoneinfo).
constexpr int k_listed_pages = 2 * 63;
constexpr std::size_t k_processes = 4;

std::uint64_t figure(int node, const std::string& name) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word)
    if (word == name && file >> kib) return kib << 10;
  return 0;
}

long vmstat(const std::string& name) {
  std::ifstream file("/proc/vmstat");
  std::string key;
  for (long value = 0; file >> key >> value;)
    if (key == name) return value;
  return -1;
}

// Pages of a node that the processors' lists have: free, and not in the account of free memory.
double listed(int node) {
  std::ifstream file("/proc/zoneinfo");
  double pages = 0;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    int number = -1;
    double count = 0;
    if (std::sscanf(line.c_str(), "Node %d", &number) == 1) here = number == node;
    if (here && std::sscanf(line.c_str(), " count: %lf", &count) == 1) pages += count;
  }
  return pages;
}

// Free memory of a node, in pages.
struct FreePages {
  explicit FreePages(int node)
      : total(static_cast<double>(figure(node, "MemTotal:")) / k_page),
        account(static_cast<double>(figure(node, "MemFree:")) / k_page),
        all(account + listed(node)) {}
  double total;
  double account;  // the kernel's
  double all;
  // To within a batch. The account is what Terrace goes by; pages that it lacks are on the processors' lists,
  // which give some back to it at any time: what they had before the place was filled as well.
  void expect_at_mark(int node, double listed_before) const {
    EXPECT_GE(all, 0.1 * total - k_batch_pages) << "node " << node;
    EXPECT_LE(account, 0.1 * total + k_batch_pages + k_listed_pages + listed_before) << "node " << node;
  }
};

// Pages that others have given back are free for the kernel's account only when it has collected them from the
// processors' lists: compaction does that, and ends when nothing changes any more.
void settle() {
  std::vector<std::uint64_t> before;
  for (int same = 0; same < 3;) {
    std::ofstream("/proc/sys/vm/compact_memory") << 1;
    ::usleep(20000);
    std::vector<std::uint64_t> now;
    for (int node = 0; figure(node, "MemTotal:") > 0; ++node) now.push_back(figure(node, "MemFree:") >> 16);
    same = now == before ? same + 1 : 0;
    before = now;
  }
}

// Pages that a place has above its mark.
long above_mark(int node) {
  const auto mark = static_cast<long>(0.1 * static_cast<double>(figure(node, "MemTotal:")));
  return std::max(0L, (static_cast<long>(figure(node, "MemFree:")) - mark) / static_cast<long>(k_page));
}

void touch(void* block, std::size_t size) {
  for (std::size_t at = 0; at < size; at += k_page) static_cast<volatile char*>(block)[at] = 1;
}

// The nodes of pages that are there.
std::vector<int> there(const void* block, std::size_t size) {
  return tests::settled_nodes(reinterpret_cast<std::uint64_t>(block), size / k_page, true);
}

// The machine as discovered, and an ordering of the user's own: the last place first.
machine::Machine machine_here() {
  auto parts = machine::discover().parts();
  machine::StatedOrdering own;
  own.intent = "mine";
  for (auto place = parts.places.rbegin(); place != parts.places.rend(); ++place)
    own.ranks.push_back({{place->name}, false});
  parts.orderings.push_back(own);
  return machine::Machine(parts);
}

class OrderedFillOnNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/sys/devices/system/node/node1", F_OK) != 0)
      GTEST_SKIP() << "this machine has one node: run me in a guest";
    machine_.emplace(machine_here());
    page_ = new (::mmap(nullptr, sizeof(memory::LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) memory::LedgerPage{};
    machine::Budget budget;
    for (const auto& place : machine_->places()) budget.push_back(place.capacity);
    ledger_ = std::make_unique<memory::Ledger>(*page_, budget);
    kills_ = vmstat("oom_kill");
    settle();
    for (int node = 0; figure(node, "MemTotal:") > 0; ++node) listed_.push_back(listed(node));
  }
  void TearDown() override {
    if (page_) {
      EXPECT_EQ(vmstat("oom_kill"), kills_);
    }
  }
  // A heap lives as long as its process.
  [[nodiscard]] OrderedHeap& heap(InitiatorId initiator = 0) const {
    OrderedHeap::Parts parts;
    parts.machine = &*machine_;
    parts.initiator = initiator;
    parts.ledger = ledger_.get();
    parts.enter = [] {};
    parts.say = [](const char* sentence) { ADD_FAILURE() << sentence; };
    return *new OrderedHeap(parts);
  }
  // The nodes in the order of an intent, by the machine's own orderings.
  [[nodiscard]] std::vector<int> order(const std::string& intent, InitiatorId initiator = 0) const {
    std::vector<int> nodes;
    for (const auto& one : machine::rank_places(*machine_, initiator, intent))
      nodes.push_back(machine_->place(one.place).numa_node);
    return nodes;
  }
  // The first place down to its mark, the others as far as they go: half of the last is left.
  static std::size_t filling_size(const std::vector<int>& order) {
    long pages = 0;
    for (std::size_t i = 0; i < order.size(); ++i) pages += above_mark(order[i]) / (i + 1 == order.size() ? 2 : 1);
    return static_cast<std::size_t>(pages) * k_page;
  }
  // The pages are on the order's nodes, one after another; and all of these but the last were at their marks, by
  // the kernel's account, to within a batch, when they had been touched: `free` is what they had left then. What
  // each had before is not known as well, as the kernel itself takes and gives back.
  void expect_order(const std::vector<int>& nodes, const std::vector<int>& order,
                    const std::vector<FreePages>& free) const {
    std::size_t at = 0;
    std::size_t last = 0;
    for (; last < order.size() && at < nodes.size(); ++last)
      while (at < nodes.size() && nodes[at] == order[last]) ++at;
    EXPECT_EQ(at, nodes.size()) << "page " << at << " is on node " << nodes[std::min(at, nodes.size() - 1)];
    EXPECT_GT(last, 1U) << "one place held all";
    expect_marks(std::span(order).first(last - 1), free);
  }
  void expect_marks(std::span<const int> left, const std::vector<FreePages>& free) const {
    for (std::size_t i = 0; i < left.size(); ++i)
      free[i].expect_at_mark(left[i], listed_.at(static_cast<std::size_t>(left[i])));
  }
  static std::vector<FreePages> free_of(const std::vector<int>& nodes) { return {nodes.begin(), nodes.end()}; }
  void fill(const std::string& intent, InitiatorId initiator, FillMode when) {
    const auto nodes = order(intent, initiator);
    auto& heap = this->heap(initiator);
    const auto size = filling_size(nodes);
    int error = 0;
    void* const block = heap.allocate(size, 1, heap.find_intent(intent), when, true, &error);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(error, 0);
    if (when == FillMode::on_touch) {
      const auto before = kernel_nodes(reinterpret_cast<std::uint64_t>(block), size / k_page);
      EXPECT_EQ(std::ranges::count_if(before, [](int node) { return node >= 0; }), 0) << "nothing is touched yet";
      touch(block, size);
    }
    const auto free = free_of(nodes);
    expect_order(there(block, size), nodes, free);
    for (std::size_t place = 0; place < machine_->places().size(); ++place)
      EXPECT_EQ(ledger_->outstanding(static_cast<PlaceId>(place)).value, 0u);
    EXPECT_TRUE(heap.release(block));
    for (std::size_t place = 0; place < machine_->places().size(); ++place)
      EXPECT_EQ(ledger_->held(static_cast<PlaceId>(place)).value, 0u);
  }

  std::optional<machine::Machine> machine_;
  memory::LedgerPage* page_ = nullptr;
  std::unique_ptr<memory::Ledger> ledger_;
  long kills_ = 0;
  std::vector<double> listed_;  // pages, by node, before the test
};

struct OrderingCase {
  std::string intent;
  InitiatorId initiator = 0;
  std::string core;  // the initiator's name
  FillMode when = FillMode::eager;
};

// Returns all orderings of this machine, at touch and at once.
std::vector<OrderingCase> ordering_cases() {
  std::vector<OrderingCase> all;
  const auto machine = machine_here();
  for (const auto& intent : machine::intents(machine))
    for (std::size_t i = 0; i < machine.initiators().size(); ++i)
      for (const auto when : {FillMode::eager, FillMode::on_touch})
        all.push_back({intent, static_cast<InitiatorId>(i), machine.initiators()[i].name, when});
  return all;
}

class EveryOrdering : public OrderedFillOnNodes, public ::testing::WithParamInterface<OrderingCase> {};

TEST_P(EveryOrdering, AnyOrdering_PagesFillPlacesInOrder) {
  const auto& [intent, initiator, core, when] = GetParam();
  fill(intent, initiator, when);
}

std::string name_of(const ::testing::TestParamInfo<OrderingCase>& ordering) {
  const auto& [intent, initiator, core, when] = ordering.param;
  return intent + "_" + core + (when == FillMode::eager ? "_at_once" : "_at_touch");
}

INSTANTIATE_TEST_SUITE_P(All, EveryOrdering, ::testing::ValuesIn(ordering_cases()), name_of);

// Chunks in random order: each node ends at its mark all the same.
TEST_F(OrderedFillOnNodes, TouchesInRandomOrder_FillPlacesInOrder) {
  const auto nodes = order("bandwidth");
  auto& heap = this->heap();
  const auto size = filling_size(nodes);
  void* const block = heap.allocate(size, 1, heap.find_intent("bandwidth"), FillMode::on_touch);
  std::vector<std::size_t> chunks(size / k_huge_page);
  std::iota(chunks.begin(), chunks.end(), 0);
  std::ranges::shuffle(chunks, std::mt19937(1));
  for (const auto chunk : chunks)
    static_cast<volatile char*>(block)[chunk * k_huge_page + (chunk * 37 % 512) * k_page] = 1;
  touch(block, size);
  const auto free = free_of(nodes);
  expect_marks(std::span(nodes).first(nodes.size() - 1), free);
  for (const auto node : there(block, size)) ASSERT_GE(node, 0);
  EXPECT_TRUE(heap.release(block));
}

// Resident pages are moved, absent ones are populated.
TEST_F(OrderedFillOnNodes, PartlyResidentRange_IsPutInOrder) {
  const auto nodes = order("bandwidth");
  const auto size = filling_size(nodes);
  const tests::Mapping map(size, k_huge_page);
  // On the last place of all, every second 8 MiB.
  for (std::size_t at = 0; at < size; at += 16U << 20) {
    const auto part = std::min<std::size_t>(8U << 20, size - at);
    ASSERT_EQ(memory::prefer_node(map.address() + at, part, nodes.back()), 0);
    map.touch(at / k_page, part / k_page);
    ASSERT_EQ(memory::reset_policy(map.address() + at, part), 0);
  }
  auto& heap = this->heap();
  EXPECT_EQ(heap.apply(map.address(), size, heap.find_intent("bandwidth")), 0);
  const auto free = free_of(nodes);
  expect_order(there(map.page(0), size), nodes, free);
  for (std::size_t at = 0; at < size; at += 16U << 20)
    ASSERT_EQ(*map.page(at / k_page), static_cast<unsigned char>(at / k_page + 1));
}

class OrderedFillProcesses : public OrderedFillOnNodes, public ::testing::WithParamInterface<FillMode> {};

// Four processes fill at once: no place but the last passes its mark by more than a batch.
TEST_P(OrderedFillProcesses, FillConcurrently_NoPlacePassesItsWatermark) {
  const auto nodes = order("bandwidth");
  std::vector<long> room(nodes.size());
  std::ranges::transform(nodes, room.begin(), above_mark);
  // Each child's own tables and threads come from the first node, too: some room is left for them behind the last.
  const auto share = filling_size(nodes) / k_processes / k_huge_page * k_huge_page;
  std::array<int, 2> done{};
  std::array<int, 2> end{};
  ASSERT_EQ(::pipe(done.data()), 0);
  ASSERT_EQ(::pipe(end.data()), 0);
  std::array<pid_t, k_processes> children{};
  for (auto& child : children) {
    child = ::fork();
    if (child != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(end[1]);
    auto& heap = this->heap();
    std::vector<long> found(nodes.size());
    int error = 0;
    constexpr std::size_t k_part = std::size_t{24} << 20;
    for (std::size_t at = 0; at < share; at += k_part) {
      const auto size = std::min(k_part, share - at);
      void* const block = heap.allocate(size, 1, heap.find_intent("bandwidth"), GetParam(), true, &error);
      if (!block || error != 0) ::_exit(1);
      touch(block, size);
      const auto pages = there(block, size);
      for (std::size_t i = 0; i < nodes.size(); ++i) found[i] += std::ranges::count(pages, nodes[i]);
    }
    const auto bytes = found.size() * sizeof(long);
    if (::write(done[1], found.data(), bytes) != static_cast<ssize_t>(bytes)) ::_exit(2);
    char byte = 0;
    (void)!::read(end[0], &byte, 1);
    ::_exit(0);
  }
  ::close(done[1]);
  std::vector<long> sum(nodes.size());
  for (std::size_t i = 0; i < k_processes; ++i) {
    std::vector<long> found(nodes.size());
    const auto bytes = static_cast<ssize_t>(found.size() * sizeof(long));
    ASSERT_EQ(::read(done[0], found.data(), static_cast<std::size_t>(bytes)), bytes) << "a child failed";
    for (std::size_t n = 0; n < nodes.size(); ++n) sum[n] += found[n];
  }
  const auto free = free_of(nodes);
  const auto all = static_cast<long>(k_processes * share / k_page);
  EXPECT_EQ(std::accumulate(sum.begin(), sum.end(), 0L), all);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::printf("node %d: %ld pages of %ld above its mark; %.2f %% free\n", nodes[i], sum[i], room[i],
                100 * free[i].account / free[i].total);
    if (i + 1 < nodes.size()) free[i].expect_at_mark(nodes[i], listed_.at(static_cast<std::size_t>(nodes[i])));
  }
  ::close(end[1]);
  for (const auto child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, OrderedFillProcesses, ::testing::Values(FillMode::eager, FillMode::on_touch),
                         [](const auto& when) { return when.param == FillMode::eager ? "AtOnce" : "AtTouch"; });

// Beyond all watermarks the place with the most free memory serves; the kernel kills no process.
TEST_F(OrderedFillOnNodes, BeyondAllWatermarks_MemoryIsServed) {
  const auto nodes = order("bandwidth");
  long pages = 0;
  for (const auto node : nodes) pages += above_mark(node);
  const auto more = static_cast<long>(figure(nodes[0], "MemTotal:") / k_page / 25);
  const auto size = static_cast<std::size_t>(pages + more) * k_page;
  auto& heap = this->heap();
  int error = 0;
  void* const block = heap.allocate(size, 1, heap.find_intent("bandwidth"), FillMode::eager, true, &error);
  EXPECT_EQ(error, 0);
  touch(block, size);
  const auto found = there(block, size);
  EXPECT_EQ(std::ranges::count_if(found, [](int node) { return node < 0; }), 0);
  for (const auto node : nodes) EXPECT_GT(figure(node, "MemFree:"), figure(node, "MemTotal:") / 50);
  EXPECT_TRUE(heap.release(block));
}

}  // namespace
}  // namespace terrace::agent
