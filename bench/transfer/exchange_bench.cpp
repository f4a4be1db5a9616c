// Compares the exchange of pages within a node with the bare copy of as many bytes by each copy kernel, while
// another thread of the program computes; for `make bench`. Time is that of a chunk; bytes a second are the
// chunk's.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "transfer/exchange/page_exchange.hpp"

namespace {

using terrace::k_huge_page;
using namespace terrace::transfer;

constexpr std::size_t k_memory = 256UL << 20;  // more than caches hold

class NoAccount final : public SlotAccounting {
 public:
  bool charge(int, std::size_t) noexcept override { return true; }
  void uncharge(int, std::size_t) noexcept override {}
};

// A thread that passes over memory of its own, as a program's thread does while the mover works.
class BackgroundLoad {
 public:
  BackgroundLoad()
      : thread_([this] {
          std::vector<std::uint64_t> numbers(1 << 16);
          while (!stop_)
            for (auto& number : numbers) number += 1;
          benchmark::DoNotOptimize(numbers.data());
        }) {}
  ~BackgroundLoad() {
    stop_ = true;
    thread_.join();
  }
  BackgroundLoad(const BackgroundLoad&) = delete;
  BackgroundLoad& operator=(const BackgroundLoad&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Memory {
 public:
  explicit Memory(bool huge) {
    map_ = mmap(nullptr, k_memory + k_huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto low = reinterpret_cast<std::uint64_t>(map_);
    address_ = (low + k_huge_page - 1) / k_huge_page * k_huge_page;
    madvise(reinterpret_cast<void*>(address_), k_memory, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(reinterpret_cast<void*>(address_), 1, k_memory);
  }
  ~Memory() { munmap(map_, k_memory + k_huge_page); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  void* map_;
  std::uint64_t address_;
};

void copy(benchmark::State& state, const CopyKernel& kernel, bool huge) {
  const Memory memory(huge);
  const BackgroundLoad load;
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto half = k_memory / 2;
  for (std::size_t at = 0; auto _ : state) {
    kernel.copy(reinterpret_cast<void*>(memory.address() + half + at),
                reinterpret_cast<const void*>(memory.address() + at), size);
    at = at + 2 * size > half ? 0 : at + size;
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void exchange(benchmark::State& state, bool huge) {
  NoAccount account;
  std::unique_ptr<PageExchange> exchange;
  try {
    exchange = std::make_unique<PageExchange>(account, 1, 4);
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
    return;
  }
  const Memory memory(huge);
  const BackgroundLoad load;
  const auto size = static_cast<std::size_t>(state.range(0));
  for (std::size_t at = 0; auto _ : state) {
    if (exchange->migrate_range(memory.address() + at, size, 0) != 0)
      state.SkipWithError("an exchange was refused");
    at = at + 2 * size > k_memory ? 0 : at + size;
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetLabel(std::string(exchange->kernel().name));
}

const bool k_registered = [] {
  for (const bool huge : {true, false}) {
    const std::string pages = huge ? "huge" : "small";
    std::vector<std::int64_t> sizes{512 << 10, 2 << 20};
    if (!huge) sizes.insert(sizes.begin(), 64 << 10);
    for (const auto size : sizes) {
      if (huge && static_cast<std::size_t>(size) < k_huge_page) continue;
      for (const auto& kernel : copy_kernels())
        benchmark::RegisterBenchmark((std::string(kernel.name) + "/" + pages).c_str(),
                                     [&kernel, huge](benchmark::State& state) { copy(state, kernel, huge); })
            ->Arg(size)
            ->UseRealTime();
      benchmark::RegisterBenchmark(("exchange/" + pages).c_str(),
                                   [huge](benchmark::State& state) { exchange(state, huge); })
          ->Arg(size)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
