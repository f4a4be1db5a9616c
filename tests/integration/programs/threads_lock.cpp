// Threads that share work by locks: a queue under a mutex with a condition variable, a reader-writer lock, a
// barrier, a semaphore, a function-local static and call_once. Prints a sum that is independent of the order.
#include <pthread.h>
#include <semaphore.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t k_block = 20000;

std::vector<double>& shared_table() {
  static std::vector<double> table(k_block, 0.5);  // initialised by the first thread
  return table;
}

struct Queue {
  std::mutex mutex;
  std::condition_variable filled;
  std::vector<std::size_t> blocks;
  bool closed = false;
};

}  // namespace

int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 2;
  constexpr std::size_t k_blocks = 96;
  std::vector<double> data(k_blocks * k_block, 1.0);
  std::vector<double> sums(k_blocks, 0.0);
  std::vector<int> done_by(static_cast<std::size_t>(threads), 0);
  Queue queue;
  std::shared_mutex factor_lock;
  double factor = 1;
  std::once_flag once;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  sem_t finished;
  sem_init(&finished, 0, 0);
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker)
    workers.emplace_back([&, worker] {
      for (;;) {
        std::size_t block = 0;
        {
          std::unique_lock lock(queue.mutex);
          queue.filled.wait(lock, [&] { return queue.closed || !queue.blocks.empty(); });
          if (queue.blocks.empty()) break;
          block = queue.blocks.back();
          queue.blocks.pop_back();
        }
        ++done_by[static_cast<std::size_t>(worker)];
        double sum = 0;
        {
          const std::shared_lock reading(factor_lock);
          for (std::size_t i = 0; i < k_block; i += 1 + block % 3)
            sum += factor * data[block * k_block + i] * shared_table()[i];
        }
        sums[block] = sum;
        std::call_once(once, [&] {
          for (auto& value : shared_table()) value = 0.5;
        });
      }
      pthread_barrier_wait(&barrier);
      sem_post(&finished);
    });
  for (std::size_t block = 0; block < k_blocks; ++block) {
    {
      const std::lock_guard lock(queue.mutex);
      queue.blocks.push_back(block);
    }
    queue.filled.notify_one();
    if (block % 16 == 0) {
      const std::unique_lock writing(factor_lock);
      factor = 1;
    }
  }
  {
    const std::lock_guard lock(queue.mutex);
    queue.closed = true;
  }
  queue.filled.notify_all();
  for (int i = 0; i < threads; ++i) sem_wait(&finished);
  for (auto& worker : workers) worker.join();
  double total = 0;
  for (const auto sum : sums) total += sum;
  std::printf("sum %.1f; blocks by worker:", total);
  for (const auto blocks : done_by) std::printf(" %d", blocks);
  std::printf("\n");
}
