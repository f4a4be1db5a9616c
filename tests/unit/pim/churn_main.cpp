// Stress test: pim_churn [--operations N] [--threads N] [--seed N] allocates and releases blocks of random
// sizes and lifetimes on the study's device, kept nearly full. Each block's owner claims all its units, so an
// overlap is detected; at the end all counters must equal their initial values.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "pim/allocator.hpp"

namespace {

using namespace terrace::pim;

constexpr Geometry k_device{1024, 65536, 16, 8, 1};

struct Counts {
  std::uint64_t operations = 0, allocated = 0, failed = 0, wrong = 0;
};

class Worker {
 public:
  Worker(Allocator& allocator, std::atomic<std::uint8_t>* owners, std::uint32_t number, std::uint64_t seed)
      : allocator_(allocator),
        owners_(owners),
        mark_(static_cast<std::uint8_t>(number + 1)),
        dice_(seed * 1000 + number) {}

  // Allocates more than it releases until the device is full; sometimes releases the oldest block, mostly a
  // random one.
  void work(std::uint64_t operations) {
    while (counts.operations < operations) {
      ++counts.operations;
      if (mine_.empty() || dice_() % 8 < 5)
        allocate();
      else
        release(dice_() % 16 == 0 ? 0 : dice_() % mine_.size());
    }
    while (!mine_.empty()) release(mine_.size() - 1);
  }
  Counts counts;

 private:
  struct Mine {
    Handle handle;
    Block block;
  };
  Request request() {
    const auto size = 1U << (dice_() % 8);
    Request request;
    request.dim = dice_() % 2 == 0 ? Dim::horizontal : Dim::vertical;
    const auto length = size + static_cast<std::uint32_t>(dice_() % size);
    if (request.dim == Dim::horizontal)
      request.shape = {1, std::min(length, 128U)};
    else
      request.shape = {length, 1 + static_cast<std::uint32_t>(dice_() % 2)};
    request.fit = dice_() % 64 == 0 ? Fit::best : Fit::first;
    request.within =
        dice_() % 4 == 0 && request.shape.subarrays <= k_device.subarrays ? Within::bank : Within::device;
    return request;
  }
  void allocate() {
    const auto handle = allocator_.allocate(request());
    if (!handle) {
      // Full: release a quarter of this thread's blocks.
      ++counts.failed;
      for (auto i = mine_.size() / 4; i > 0; --i) release(dice_() % mine_.size());
      return;
    }
    ++counts.allocated;
    const auto block = *allocator_.block(handle);
    claim(block, 0, mark_);
    mine_.push_back({handle, block});
  }
  void release(std::size_t at) {
    ++counts.operations;
    const auto [handle, block] = mine_[at];
    mine_[at] = mine_.back();
    mine_.pop_back();
    claim(block, mark_, 0);
    if (allocator_.release(handle) != Released::done) ++counts.wrong;
  }
  void claim(const Block& block, std::uint8_t from, std::uint8_t to) {
    for (auto row = block.row; row < block.row + block.shape.rows; ++row)
      for (std::uint32_t i = 0; i < block.shape.subarrays; ++i) {
        auto& owner = owners_[std::size_t{row} * k_device.width() + block.subarray + i];
        // The owner of a block owns its units, so no atomic exchange is needed.
        if (owner.load(std::memory_order_relaxed) != from) ++counts.wrong;
        owner.store(to, std::memory_order_relaxed);
      }
  }

  Allocator& allocator_;
  std::atomic<std::uint8_t>* owners_;
  std::uint8_t mark_;
  std::mt19937_64 dice_;
  std::vector<Mine> mine_;
};

}  // namespace

int main(int count, char** words) {
  std::uint64_t operations = 0, threads = 2, seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    const auto value = std::strtoull(words[i + 1], nullptr, 10);
    if (std::strcmp(words[i], "--operations") == 0) operations = value;
    if (std::strcmp(words[i], "--threads") == 0) threads = value;
    if (std::strcmp(words[i], "--seed") == 0) seed = value;
  }
  if (operations == 0 || threads == 0 || threads > 64) {
    std::fputs("pim_churn: give --operations N, and --threads 1..64 and --seed N if you like\n", stderr);
    return 2;
  }
  Allocator allocator(k_device);
  const auto owners = std::make_unique<std::atomic<std::uint8_t>[]>(k_device.units());
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<Worker>(allocator, owners.get(), i, seed));
  const auto begun = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> running;
    running.reserve(threads);
    for (const auto& worker : workers) running.emplace_back([&] { worker->work(operations / threads); });
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  Counts all;
  for (const auto& worker : workers) {
    all.operations += worker->counts.operations;
    all.allocated += worker->counts.allocated;
    all.failed += worker->counts.failed;
    all.wrong += worker->counts.wrong;
  }
  bool equal = allocator.free_units() == k_device.units();
  for (const auto& bitmap : allocator.snapshot())
    for (std::uint32_t row = 0; row < k_device.rows; ++row)
      for (std::uint32_t subarray = 0; subarray < k_device.width(); ++subarray)
        equal = equal && bitmap.is_free(row, subarray);
  std::printf("%llu operations, %llu allocations, %llu without room, %llu wrong, accounts %s; %.1f s\n",
              static_cast<unsigned long long>(all.operations), static_cast<unsigned long long>(all.allocated),
              static_cast<unsigned long long>(all.failed), static_cast<unsigned long long>(all.wrong),
              equal ? "equal" : "NOT equal", took.count());
  return all.wrong == 0 && equal ? 0 : 1;
}
