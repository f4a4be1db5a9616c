// The kernel's NUMA balancing moves pages to the node whose processors touch them. What was placed stays where it
// is, whoever touches it; memory of nobody beside it shows that the kernel does move. Runs in a guest with two
// nodes that have processors, NUMA balancing on and a short scan period (jobs.sh).
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "machine/discover/discovery.hpp"
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

// The same from /proc/self/numa_maps, for memory without a policy: while a page waits for the touch by which the
// kernel learns who uses it, move_pages(2) of kernels before 6.6 says that there is none.
std::size_t mapped_on_node(const Mapping& map, int node) {
  std::ifstream maps("/proc/self/numa_maps");
  const auto key = " N" + std::to_string(node) + "=";
  for (std::string line; std::getline(maps, line);)
    if (const auto at = line.find(key); std::stoull(line, nullptr, 16) == map.address())
      return at == std::string::npos ? 0 : std::stoull(line.substr(at + key.size()));
  return 0;
}

// Chunks over the whole mapping on a place, touched.
ChunkId place(const Mapping& map, PlaceId where, memory::ChunkTable& chunks, memory::ProvidersByPlace& provider,
              memory::Ledger& ledger) {
  const auto first = static_cast<ChunkId>(chunks.size());
  constexpr auto k_size = static_cast<std::uint32_t>(k_chunk_pages * k_page);
  for (std::size_t at = 0; at < k_pages; at += k_chunk_pages)
    chunks.add(map.address(at), k_size, 0, 0, k_no_place);
  EXPECT_TRUE(ledger.take(where, Bytes{k_pages * k_page}));
  EXPECT_TRUE(provider.bind(first, k_pages / k_chunk_pages, where));
  for (auto chunk = first; chunk < chunks.size(); ++chunk) chunks.put(chunks[chunk], where);
  map.touch(0, k_pages);
  return first;
}

TEST(Balancing, WhatWasPlacedStaysWhileTheKernelMovesTheRest) {
  const auto discovered = machine::discover_details();
  const auto& machine = discovered.machine;
  if (discovered.processors.size() < 2)
    GTEST_SKIP() << "this machine has one set of processors: run me in a guest";
  const int near = discovered.processors[0].front();
  const int far = discovered.processors[1].front();
  const auto home = machine.home(0);
  const int node = machine.place(home).numa_node;
  const int far_node = machine.place(machine.home(1)).numa_node;

  SteadyClock clock;
  memory::LedgerPage page;
  memory::ChunkTable chunks;
  memory::Ledger ledger(page, machine::whole_budget(machine));
  memory::ProvidersByPlace provider(machine, chunks);
  transfer::MoveQueue mover(machine, chunks, ledger, clock);

  run_on(near);
  const Mapping nobodys(k_pages * k_page);
  const Mapping placed(k_pages * k_page);
  const Mapping moved(k_pages * k_page);
  for (const auto* map : {&nobodys, &placed, &moved})
    ASSERT_EQ(madvise(map->page(0), k_pages * k_page, MADV_NOHUGEPAGE), 0);
  nobodys.touch(0, k_pages);
  place(placed, home, chunks, provider, ledger);
  const auto first = place(moved, machine.home(1), chunks, provider, ledger);
  for (auto chunk = first; chunk < chunks.size(); ++chunk) mover.wait(mover.submit({chunk, home}));
  ASSERT_EQ(mapped_on_node(nobodys, node), k_pages);
  ASSERT_EQ(on_node(placed, node), k_pages);
  ASSERT_EQ(on_node(moved, node), k_pages);

  std::atomic<bool> stop{false};
  std::thread toucher([&] {
    run_on(far);
    while (!stop)
      for (const auto* map : {&nobodys, &placed, &moved}) map->touch(0, k_pages);
  });
  for (int round = 0; round < k_rounds && mapped_on_node(nobodys, far_node) < k_pages / 2; ++round)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  stop = true;
  toucher.join();
  EXPECT_GE(mapped_on_node(nobodys, far_node), k_pages / 2) << "the kernel moves nothing: this test shows nothing";
  EXPECT_EQ(on_node(placed, node), k_pages);
  EXPECT_EQ(on_node(moved, node), k_pages);
}

}  // namespace
}  // namespace terrace::tests
