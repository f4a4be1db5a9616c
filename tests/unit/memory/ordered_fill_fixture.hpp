// Models the memory system for tests of ordered fill. It records the place of every page, as independent truth.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/rounding.hpp"
#include "ledger_fixture.hpp"
#include "memory/ordered/ordered_fill.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_places = 3;
inline constexpr std::size_t k_workers = 4;
inline constexpr std::uint64_t k_batch = 64 * k_page;
inline constexpr std::array<std::uint64_t, k_places> k_capacities{8000, 5000, 12000};  // pages
inline constexpr std::uint64_t k_reserved = 100;                                       // pages, of each place

// Pages in use: one word for each place with 16 bits for each worker, so that changes are atomic.
struct SharedPageCounts {
  std::array<std::atomic<std::uint64_t>, k_places> used;
  std::array<std::atomic<std::uint64_t>, k_places> peak;  // peak use
  std::atomic<std::uint64_t> kills;                       // no place had a free page
  std::atomic<std::uint64_t> fallbacks;                   // a page came from another place than the preferred one

  static std::uint64_t sum(std::uint64_t word) {
    std::uint64_t total = 0;
    for (std::size_t worker = 0; worker < k_workers; ++worker) total += word >> (16 * worker) & 0xffff;
    return total;
  }
  static std::uint64_t of(std::uint64_t word, std::size_t worker) { return word >> (16 * worker) & 0xffff; }
  bool take_page(std::size_t worker, PlaceId place) {
    for (auto word = used[place].load();;) {
      if (sum(word) >= k_capacities[place]) return false;
      if (!used[place].compare_exchange_weak(word, word + (std::uint64_t{1} << (16 * worker)))) continue;
      const auto now = sum(word) + 1;
      for (auto seen = peak[place].load(); seen < now && !peak[place].compare_exchange_weak(seen, now);) {
      }
      return true;
    }
  }
  void release_all(std::size_t worker) {
    for (auto& word : used) word.fetch_and(~(std::uint64_t{0xffff} << (16 * worker)));
  }
};

// Models the kernel for one worker. Pages come from the preferred place, or from another one if that is full.
class ModelSystem final : public PlaceSystem {
 public:
  ModelSystem(SharedPageCounts& machine, std::size_t worker, std::uint64_t total_of_last = k_capacities[2])
      : machine_(machine), worker_(worker), total_of_last_(total_of_last) {}
  [[nodiscard]] std::uint64_t capacity(PlaceId place) const noexcept override {
    return (place == 2 ? total_of_last_ : k_capacities[place]) * k_page;
  }
  [[nodiscard]] std::uint64_t kernel_reserve(PlaceId) const noexcept override { return k_reserved * k_page; }
  [[nodiscard]] std::uint64_t free_bytes(PlaceId place) noexcept override {
    return (k_capacities[place] - SharedPageCounts::sum(machine_.used[place].load())) * k_page;
  }
  int prefer_place(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override {
    if (place == refused_place) return EPERM;
    for (auto at = address; at < address + size; at += k_page) policy[at] = place;
    return 0;
  }
  void reset_policy(std::uint64_t address, std::uint64_t size) noexcept override {
    for (auto at = address; at < address + size; at += k_page) policy.erase(at);
  }
  int populate(std::uint64_t address, std::uint64_t size) noexcept override {
    // A huge page may cover the rest of the batch if that has the same policy.
    const auto next = policy.find(address + size);
    if ((address + size) % k_batch != 0 && next != policy.end() && !pages.contains(address + size))
      if (next->second == policy.at(address)) ++num_policy_overruns;
    for (auto at = address; at < address + size; at += k_page) {
      if (pages.contains(at)) continue;
      if (at % (16 * k_page) == 0) ::sched_yield();
      const auto wanted = policy.at(at);
      if (machine_.take_page(worker_, wanted)) {
        pages[at] = wanted;
        continue;
      }
      ++machine_.fallbacks;
      PlaceId other = 0;
      while (other < k_places && !machine_.take_page(worker_, other)) ++other;
      if (other == k_places)
        ++machine_.kills;
      else
        pages[at] = other;
    }
    return 0;
  }
  int migrate_to(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override {
    for (auto at = address; at < address + size; at += k_page) {
      const auto found = pages.find(at);
      if (found == pages.end() || found->second == place) continue;
      if (!machine_.take_page(worker_, place)) return ENOMEM;
      machine_.used[found->second].fetch_sub(std::uint64_t{1} << (16 * worker_));
      found->second = place;
    }
    return 0;
  }
  int query_places(std::uint64_t address, std::span<PlaceId> places) noexcept override {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto found = pages.find(address + i * k_page);
      places[i] = found == pages.end() ? k_no_place : found->second;
    }
    return 0;
  }
  void wait_briefly() noexcept override {
    if (on_pause)
      on_pause();
    else
      ::usleep(50);
  }

  // Adds a page to the place, as if it had been touched.
  void touch(std::uint64_t address, PlaceId place) {
    ASSERT_TRUE(machine_.take_page(worker_, place));
    pages[address] = place;
  }

  std::map<std::uint64_t, PlaceId> policy, pages;
  int num_policy_overruns = 0;
  PlaceId refused_place = k_no_place;
  std::function<void()> on_pause;

 private:
  SharedPageCounts& machine_;
  std::size_t worker_;
  std::uint64_t total_of_last_;
};

struct RecordedParts final : OrderedFill::Observer {
  void on_accessible(std::uint64_t, std::uint64_t size) noexcept override { opened += size; }
  void on_placed(const OrderedFill::PlacedPart& part) noexcept override { all.push_back(part); }
  std::uint64_t opened = 0;
  std::vector<OrderedFill::PlacedPart> all;
};

inline constexpr OrderedFill::Settings k_settings{.watermark = 0.1,
                                                  .batch = {k_batch},
                                                  .large_batch = {8 * k_batch},
                                                  .slack = {32 * k_page},
                                                  .min_part = {k_page}};

class OrderedFillTest : public ::testing::Test {
 protected:
  OrderedFillTest()
      : machine_(new (::mmap(nullptr, sizeof(SharedPageCounts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                             -1, 0)) SharedPageCounts{}) {}
  ~OrderedFillTest() override { ::munmap(machine_, sizeof(SharedPageCounts)); }

  static std::uint64_t above_watermark(PlaceId place) {
    return k_capacities[place] - static_cast<std::uint64_t>(0.1 * static_cast<double>(k_capacities[place]));
  }
  static machine::Budget whole() {
    machine::Budget budget;
    for (const auto pages : k_capacities) budget.push_back({pages * k_page});
    return budget;
  }
  // Checks that the parts cover the range contiguously, and that every page is on the place of its part.
  static void expect_parts_match_pages(const RecordedParts& parts, const ModelSystem& system,
                                       std::uint64_t address, std::uint64_t size) {
    auto at = address;
    for (const auto& part : parts.all) {
      ASSERT_EQ(part.address, at);
      for (auto page = at; page < at + part.size; page += k_page) {
        if (part.place == k_no_place) {
          ASSERT_FALSE(system.pages.contains(page));
        } else if (part.held > 0) {
          ASSERT_TRUE(system.pages.contains(page));
          ASSERT_EQ(system.pages.at(page), part.place);
        }
      }
      at += part.size;
    }
    EXPECT_EQ(at, address + size);
    EXPECT_EQ(parts.opened, size);
  }
  static std::uint64_t pages_on(const ModelSystem& system, PlaceId place) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(system.pages, [&](const auto& page) { return page.second == place; }));
  }

  SharedPage shared_;
  SharedPageCounts* machine_;
};

inline constexpr std::uint64_t k_address = 1ULL << 40;

}  // namespace terrace::memory
