// Stress test of page exchange: a continuous mover against two writer threads (plain stores and atomics), system
// calls, and the kernel's page-out. Every increment is compared with a count in memory that is not moved.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/real_memory.hpp"
#include "transfer/exchange/page_exchange.hpp"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21  // <linux/mman.h>, since Linux 5.4
#endif

namespace terrace::tests {

struct StressCounts {
  std::uint64_t exchanges = 0;
  std::uint64_t skipped = 0;     // exchanges refused: pages busy or being paged out
  std::uint64_t increments = 0;  // by both writers
  std::uint64_t calls = 0;       // system calls on moved pages
  std::uint64_t paged_out = 0;   // pages written to swap, system-wide
  std::uint64_t lost = 0;        // lost increments, or calls that read wrong content
};

class ExchangeStress {
 public:
  explicit ExchangeStress(std::size_t copiers) : exchange_(account_, 1, 4, copiers) {
    madvise(huge_.page(0), k_size, MADV_HUGEPAGE);
    madvise(small_.page(0), k_size, MADV_NOHUGEPAGE);
    for (const auto* map : {&huge_, &small_, &buffer_}) std::memset(map->page(0), 0, k_size);
    for (auto& counts : counted_) counts.resize(2 * k_words);
  }

  StressCounts run(std::chrono::duration<double> time) {
    const auto before = pages_swapped_out();
    std::vector<std::thread> threads;
    for (unsigned writer = 0; writer < k_writers; ++writer)
      threads.emplace_back([this, writer] { write(writer); });
    threads.emplace_back([this] { call(); });
    threads.emplace_back([this] { page_out(); });
    move(time);
    stop_ = true;
    for (auto& thread : threads) thread.join();
    StressCounts counts;
    counts.exchanges = exchanges_;
    counts.skipped = skipped_;
    counts.calls = calls_;
    counts.lost = lost_;
    counts.paged_out = pages_swapped_out() - before;
    for (std::size_t word = 0; word < 2 * k_words; ++word) {
      const auto wanted = counted_[0][word] + counted_[1][word];
      counts.increments += wanted;
      counts.lost += wanted - __atomic_load_n(&word_at(word), __ATOMIC_RELAXED);
    }
    return counts;
  }

 private:
  static constexpr unsigned k_writers = 2;
  static constexpr int k_burst = 100;  // ranges
  static constexpr int k_pause = 400;  // milliseconds
  static constexpr std::size_t k_size = 4 * k_huge_page;
  static constexpr std::size_t k_words = k_size / sizeof(std::uint64_t);

  class Account final : public transfer::SlotAccounting {
   public:
    bool charge(int, std::size_t) noexcept override { return true; }
    void uncharge(int, std::size_t) noexcept override {}
  };

  static std::uint64_t pages_swapped_out() {
    std::ifstream text("/proc/vmstat");
    std::string key;
    std::uint64_t value = 0;
    while (text >> key >> value)
      if (key == "pswpout") return value;
    return 0;
  }

  std::uint64_t& word_at(std::size_t word) {
    const auto& map = word < k_words ? huge_ : small_;
    return reinterpret_cast<std::uint64_t*>(map.address())[word % k_words];
  }

  // One of four words belongs to each writer, and two are shared.
  void write(unsigned writer) {
    std::mt19937_64 random(writer);
    while (!stop_.load(std::memory_order_relaxed)) {
      const auto group = random() % (2 * k_words / 4) * 4;
      const bool own = (random() & 1) != 0;
      const auto word = group + (own ? writer : 2 + (random() & 1));
      auto& number = word_at(word);
      if (own) {
        const auto now = __atomic_load_n(&number, __ATOMIC_RELAXED);
        if (now != counted_[writer][word]) ++lost_;
        __atomic_store_n(&number, now + 1, __ATOMIC_RELAXED);
      } else {
        __atomic_fetch_add(&number, 1, __ATOMIC_SEQ_CST);
      }
      ++counted_[writer][word];
    }
  }

  // Lets the kernel read and write pages that move. Raw system calls: tools that intercept the C library's would
  // count them as accesses of this thread.
  void call() {
    int ends[2];
    if (pipe(ends) != 0) return;
    std::vector<unsigned char> text(k_page);
    std::vector<unsigned char> back(k_page);
    std::mt19937 random(3);
    while (!stop_.load(std::memory_order_relaxed)) {
      auto* const page = buffer_.page(random() % (k_size / k_page));
      std::fill(text.begin(), text.end(), static_cast<unsigned char>(random()));
      bool right = true;
      for (const bool out : {false, true}) {
        right =
            right && syscall(SYS_write, ends[1], out ? page : text.data(), k_page) == static_cast<long>(k_page);
        right = right && syscall(SYS_read, ends[0], out ? back.data() : page, k_page) == static_cast<long>(k_page);
        calls_ += 1;
      }
      if (!right || text != back) ++lost_;
    }
    close(ends[0]);
    close(ends[1]);
  }

  // Pages out in bursts; between them mover and writers run at full speed.
  void page_out() {
    std::mt19937 random(4);
    for (int burst = 0; !stop_.load(std::memory_order_relaxed); ++burst) {
      const auto range = random_range(random);
      madvise(reinterpret_cast<void*>(range.address), range.size, MADV_PAGEOUT);
      std::this_thread::sleep_for(std::chrono::milliseconds(burst % k_burst == 0 ? k_pause : 1));
    }
  }

  struct Range {
    std::uint64_t address;
    std::size_t size;
  };
  // Up to 4 MiB, and often just one huge page.
  Range random_range(std::mt19937& random) {
    const Mapping* const maps[] = {&huge_, &small_, &buffer_};
    const auto& map = *maps[random() % 3];
    if (random() % 2 == 0) return {map.address() + random() % (k_size / k_huge_page) * k_huge_page, k_huge_page};
    const auto pages = &map == &huge_ ? k_huge_page / k_page : std::size_t{16};  // huge ones stay whole
    const auto units = k_size / k_page / pages;
    const auto first = random() % units;
    const auto count = 1 + random() % std::min<std::size_t>(units - first, 2 * k_huge_page / k_page / pages);
    return {map.address() + first * pages * k_page, count * pages * k_page};
  }

  void move(std::chrono::duration<double> time) {
    const auto end = std::chrono::steady_clock::now() + time;
    std::mt19937 random(5);
    while (std::chrono::steady_clock::now() < end)
      for (int i = 0; i < 16; ++i) {
        const auto range = random_range(random);
        ++(exchange_.migrate_range(range.address, range.size, 0) == 0 ? exchanges_ : skipped_);
        exchange_.settle_accounting();
      }
  }

  Account account_;
  transfer::PageExchange exchange_;
  Mapping huge_{k_size, k_huge_page};
  Mapping small_{k_size, k_huge_page};
  Mapping buffer_{k_size, k_huge_page};
  std::vector<std::uint64_t> counted_[k_writers];  // expected counts, by writer
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::uint64_t exchanges_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace terrace::tests
