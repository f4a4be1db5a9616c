// The kernel's NUMA balancing moves pages to the node whose processors touch them. Placed memory stays where it
// is, whichever thread touches it; unmanaged memory next to it shows that the kernel does move pages. Runs in a
// guest with two nodes that have processors, NUMA balancing on and a short scan period (jobs.sh).
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "machine/discover/discovery.hpp"
#include "memory/ordered/numa_places.hpp"
#include "memory/provider.hpp"
#include "stress_worker.hpp"
#include "support/real_memory.hpp"
#include "transfer/move_queue.hpp"

namespace terrace::tests {
namespace {

constexpr std::size_t k_pages = 1024;
constexpr std::size_t k_chunk_pages = 128;
constexpr int k_rounds = 3000;  // of looking whether the kernel has moved; it takes some 30

void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof set, &set), 0);
}

std::size_t on_node(const Mapping& map, int node) {
  const auto nodes = kernel_nodes(map.address(), k_pages);
  return static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), node));
}

// Counts the pages on a node by /proc/self/numa_maps, for memory without a policy: while a page waits for its
// hinting fault, move_pages(2) of kernels before 6.6 reports no node.
std::size_t mapped_on_node(const Mapping& map, int node) {
  std::ifstream maps("/proc/self/numa_maps");
  const auto key = " N" + std::to_string(node) + "=";
  for (std::string line; std::getline(maps, line);)
    if (const auto at = line.find(key); std::stoull(line, nullptr, 16) == map.address())
      return at == std::string::npos ? 0 : std::stoull(line.substr(at + key.size()));
  return 0;
}

ChunkId add_chunks(const Mapping& map, memory::ChunkTable& chunks) {
  const auto first = static_cast<ChunkId>(chunks.size());
  constexpr auto k_size = static_cast<std::uint32_t>(k_chunk_pages * k_page);
  for (std::size_t at = 0; at < k_pages; at += k_chunk_pages)
    chunks.add(map.address(at), k_size, 0, 0, k_no_place);
  return first;
}

// Chunks over the whole mapping on a place, touched.
ChunkId place(const Mapping& map, PlaceId where, memory::ChunkTable& chunks, memory::NumaProvider& provider,
              memory::Ledger& ledger) {
  const auto first = add_chunks(map, chunks);
  EXPECT_TRUE(ledger.take(where, Bytes{k_pages * k_page}));
  EXPECT_TRUE(provider.bind(first, k_pages / k_chunk_pages, where));
  for (auto chunk = first; chunk < chunks.size(); ++chunk) chunks.put(chunks[chunk], where);
  map.touch(0, k_pages);
  return first;
}

class Balancing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (discovered_.processors.size() < 2)
      GTEST_SKIP() << "this machine has one set of processors: run me in a guest";
  }

  const machine::Discovered discovered_ = machine::discover_details();
  const machine::Machine& machine_ = discovered_.machine;
  const PlaceId home_ = machine_.home(0);
  const PlaceId far_home_ = machine_.home(static_cast<DomainId>(machine_.domains().size() - 1));
  const int node_ = machine_.place(home_).numa_node;
  const int far_node_ = machine_.place(far_home_).numa_node;
  SteadyClock clock_;
  memory::LedgerPage page_;
  memory::ChunkTable chunks_;
  memory::Ledger ledger_{page_, machine::whole_budget(machine_)};
  memory::NumaProvider provider_{machine_, chunks_};
  transfer::MoveQueue mover_{machine_, chunks_, ledger_, clock_};

 private:
  // Pages that are where a process of one thread runs are not looked at.
  class SecondThread {
   public:
    ~SecondThread() {
      ends_.set_value();
      thread_.join();
    }

   private:
    std::promise<void> ends_;
    std::thread thread_{[this] { ends_.get_future().wait(); }};
  };
  SecondThread second_;
};

// Pages that wait for a touch are there, small ones and huge ones, whatever the kernel says of them.
TEST_F(Balancing, PageAwaitingHintFault_IsPlacedByIntent) {
  run_on(discovered_.processors[0].front());
  for (const int advice : {MADV_NOHUGEPAGE, MADV_HUGEPAGE}) {
    const Mapping map(k_pages * k_page, k_huge_page);
    ASSERT_EQ(madvise(map.page(0), k_pages * k_page, advice), 0);
    map.touch(0, k_pages);
    ASSERT_EQ(mapped_on_node(map, node_), k_pages);
    const auto waiting = [&] {
      const auto nodes = kernel_nodes(map.address(), k_pages);
      return std::count_if(nodes.begin(), nodes.end(), [](int node) { return node < 0; });
    };
    // The kernel looks for them while their process works.
    for (int round = 0; round < k_rounds && waiting() < static_cast<long>(k_pages) / 2; ++round)
      for (int i = 0; i < 1'000'000; ++i) __asm__ volatile("");
    EXPECT_GE(waiting(), static_cast<long>(k_pages) / 2) << "this test shows nothing";
    std::vector<PlaceId> places(k_pages);
    memory::NumaPlaces system(machine_);
    ASSERT_EQ(system.query_places(map.address(), places), 0);
    EXPECT_EQ(std::count(places.begin(), places.end(), home_), static_cast<long>(k_pages));
  }
}

TEST_F(Balancing, PlacedPages_StayWhileKernelMovesOthers) {
  run_on(discovered_.processors[0].front());
  const Mapping nobodys(k_pages * k_page);
  const Mapping placed(k_pages * k_page);
  const Mapping moved(k_pages * k_page);
  for (const auto* map : {&nobodys, &placed, &moved})
    ASSERT_EQ(madvise(map->page(0), k_pages * k_page, MADV_NOHUGEPAGE), 0);
  nobodys.touch(0, k_pages);
  place(placed, home_, chunks_, provider_, ledger_);
  const auto first = place(moved, far_home_, chunks_, provider_, ledger_);
  for (auto chunk = first; chunk < chunks_.size(); ++chunk) mover_.wait(mover_.submit({chunk, home_}));
  ASSERT_EQ(mapped_on_node(nobodys, node_), k_pages);
  ASSERT_EQ(on_node(placed, node_), k_pages);
  ASSERT_EQ(on_node(moved, node_), k_pages);

  std::atomic<bool> stop{false};
  std::thread toucher([&] {
    run_on(discovered_.processors[1].front());
    while (!stop)
      for (const auto* map : {&nobodys, &placed, &moved}) map->touch(0, k_pages);
  });
  for (int round = 0; round < k_rounds && mapped_on_node(nobodys, far_node_) < k_pages / 2; ++round)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  stop = true;
  toucher.join();
  EXPECT_GE(mapped_on_node(nobodys, far_node_), k_pages / 2)
      << "the kernel moves nothing: this test shows nothing";
  EXPECT_EQ(on_node(placed, node_), k_pages);
  EXPECT_EQ(on_node(moved, node_), k_pages);
}

// Memory that is named late (static arrays) has been the kernel's until then. Pages that wait for their
// hinting fault can be moved all the same.
TEST_F(Balancing, PageAwaitingHintFault_IsPlacedAndMoved) {
  run_on(discovered_.processors[0].front());
  const Mapping late(k_pages * k_page);
  const Mapping other(k_pages * k_page);
  ASSERT_EQ(madvise(late.page(0), k_pages * k_page, MADV_NOHUGEPAGE), 0);
  late.touch(0, k_pages);
  std::size_t waiting = 0;
  for (int round = 0; round < k_rounds && waiting < k_pages / 2; ++round) {
    other.touch(0, k_pages);  // the kernel looks at pages of those that run
    const auto nodes = kernel_nodes(late.address(), k_pages);
    waiting = static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), -ENOENT));
  }
  ASSERT_GE(waiting, k_pages / 2) << "the kernel looks at nothing, or is 6.6 or later: this test shows nothing";
  const auto first = add_chunks(late, chunks_);
  ASSERT_TRUE(ledger_.take(home_, Bytes{k_pages * k_page}));
  ASSERT_TRUE(provider_.bind(first, k_pages / k_chunk_pages, home_));
  for (auto chunk = first; chunk < chunks_.size(); ++chunk) chunks_.put(chunks_[chunk], home_);
  for (auto chunk = first; chunk < chunks_.size(); ++chunk) mover_.wait(mover_.submit({chunk, far_home_}));
  for (const auto& result : mover_.completions()) EXPECT_FALSE(result.refused);
  EXPECT_EQ(on_node(late, far_node_), k_pages);
}

}  // namespace
}  // namespace terrace::tests
