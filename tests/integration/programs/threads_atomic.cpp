// Threads that share work by atomic operations: a counter that hands out blocks, a spin lock by exchange, a wait
// by C++20's atomic wait, a latch, a flag that a thread spins on. Prints a sum that is independent of the order
// of execution.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 2;
  constexpr std::size_t k_blocks = 64;
  constexpr std::size_t k_block = 30000;
  std::vector<float> data(k_blocks * k_block, 1.0F);
  std::atomic<std::size_t> next{0};
  std::atomic<int> open{0};
  std::atomic<bool> ready{false};
  std::atomic_flag spin = ATOMIC_FLAG_INIT;
  std::latch all_done(threads);
  double total = 0;
  std::vector<int> done_by(static_cast<std::size_t>(threads), 0);
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker)
    workers.emplace_back([&, worker] {
      open.wait(0);
      while (!ready.load(std::memory_order_acquire)) {
      }
      for (std::size_t block = next.fetch_add(1); block < k_blocks; block = next.fetch_add(1)) {
        double sum = 0;
        for (std::size_t i = block % 5; i < k_block; ++i) sum += data[block * k_block + i];
        while (spin.test_and_set(std::memory_order_acquire)) {
        }
        total += sum;
        ++done_by[static_cast<std::size_t>(worker)];
        spin.clear(std::memory_order_release);
      }
      all_done.count_down();
    });
  open.store(1);
  open.notify_all();
  for (auto& value : data) value = 1.0F;
  ready.store(true, std::memory_order_release);
  all_done.wait();
  for (auto& worker : workers) worker.join();
  std::printf("sum %.1f; blocks by worker:", total);
  for (const auto blocks : done_by) std::printf(" %d", blocks);
  std::printf("\n");
}
