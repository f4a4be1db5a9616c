// Measures random allocation on a nearly full PIM device, a section of pim_bench: while a thread holds less than
// its share of 90 % of the device it requests the next shape (refused ones are dropped), else it releases any of
// its blocks. The mallocs get the sizes of the same shapes. The free units at the end are counted from the blocks
// alone.
#include <fmt/format.h>

#include <memory>
#include <random>
#include <vector>

#include "sections.hpp"
#include "threads.hpp"

namespace terrace::pim::bench {
namespace {

constexpr const char* k_section = "churn";
constexpr double k_share = 0.9;

// Draws work: each power of two is as likely as the next, so that small blocks are as frequent as large ones.
Work random_work(std::mt19937& random) {
  const auto length = [&](unsigned powers) {
    const auto top = 1u << (random() % powers);
    return top + static_cast<std::uint32_t>(random() % top);
  };
  if (random() % 2 == 0) return Work::of({length(2), length(5)}, Dim::horizontal);  // 1-3 rows, 1-31 subarrays
  return Work::of({length(7), length(1)}, Dim::vertical);                           // 1-127 rows, 1 subarray
}

struct Plan {
  std::vector<Work> works;
  std::vector<std::uint32_t> picks;
};

Plan plan_of(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  Plan plan;
  for (std::size_t i = 0; i < count; ++i) {
    plan.works.push_back(random_work(random));
    plan.picks.push_back(static_cast<std::uint32_t>(random()));
  }
  return plan;
}

// Runs the requests and releases of one thread.
template <typename Subject>
class Tenant {
 public:
  Tenant(Subject& subject, const Plan& plan, std::uint64_t most) : subject_(subject), plan_(plan), most_(most) {
    live_.reserve(most);
  }
  void live(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      const auto at = next_++ % plan_.works.size();
      if (held_ < most_) {
        const auto& work = plan_.works[at];
        ++asked;
        if (const auto token = subject_.take(work)) {
          live_.push_back({token, work.shape.units()});
          held_ += work.shape.units();
        } else {
          ++failed;
        }
      } else {
        std::swap(live_[plan_.picks[at] % live_.size()], live_.back());
        subject_.give(live_.back().token);
        held_ -= live_.back().units;
        live_.pop_back();
      }
      held_sum += held_;
    }
  }
  void end() {
    for (const auto& one : live_) subject_.give(one.token);
  }
  template <typename Use>
  void each_block(Use use) const {
    for (const auto& one : live_)
      if (const auto block = subject_.block(one.token)) use(*block);
  }

  std::uint64_t asked = 0, failed = 0, held_sum = 0;

 private:
  struct Live {
    typename Subject::Token token;
    std::uint64_t units;
  };
  Subject& subject_;
  const Plan& plan_;
  std::uint64_t most_, held_ = 0;
  std::size_t next_ = 0;
  std::vector<Live> live_;
};

// Tracks free units, and the share of them in the largest free rectangle.
class FreeUnits {
 public:
  FreeUnits() : taken_(k_device.units()) {}
  void take(const Block& block) {
    for (auto row = block.row; row < block.row + block.shape.rows; ++row)
      for (auto subarray = block.subarray; subarray < block.subarray + block.shape.subarrays; ++subarray)
        taken_[std::size_t{row} * k_device.width() + subarray] = true;
  }
  [[nodiscard]] double largest_share() const {
    std::uint64_t free = 0, largest = 0;
    std::vector<std::uint64_t> deep(k_device.width());  // free rows that end here
    for (std::uint32_t row = 0; row < k_device.rows; ++row) {
      for (std::uint32_t i = 0; i < deep.size(); ++i) {
        deep[i] = taken_[std::size_t{row} * deep.size() + i] ? 0 : deep[i] + 1;
        free += deep[i] > 0 ? 1 : 0;
        auto lowest = deep[i];
        for (std::uint32_t wide = 1; wide <= i + 1 && lowest > 0; ++wide) {
          lowest = std::min(lowest, deep[i + 1 - wide]);
          largest = std::max(largest, lowest * wide);
        }
      }
    }
    return free == 0 ? 1 : static_cast<double>(largest) / static_cast<double>(free);
  }

 private:
  std::vector<bool> taken_;
};

struct Churned {
  double operation_ns = 0, throughput = 0, failed = 0, occupancy = 0, largest = 0;
};

template <typename Subject>
Churned churned(Subject& subject, unsigned threads, std::size_t operations, const std::vector<Plan>& plans) {
  const auto most = static_cast<std::uint64_t>(k_share * static_cast<double>(k_device.units())) / threads;
  std::vector<std::unique_ptr<Tenant<Subject>>> tenants;
  for (unsigned i = 0; i < threads; ++i)
    tenants.push_back(std::make_unique<Tenant<Subject>>(subject, plans[i], most));
  const auto timed = in_threads(
      threads,
      [&](unsigned thread) {
        auto& tenant = *tenants[thread];
        tenant.live(60000 / threads);  // until it is full and has forgotten how it began
        tenant.asked = tenant.failed = tenant.held_sum = 0;
      },
      [&](unsigned thread) { tenants[thread]->live(operations); });
  std::uint64_t asked = 0, failed = 0, held = 0;
  FreeUnits units;
  for (const auto& tenant : tenants) {
    asked += tenant->asked;
    failed += tenant->failed;
    held += tenant->held_sum;
    tenant->each_block([&](const Block& block) { units.take(block); });
  }
  for (const auto& tenant : tenants) tenant->end();
  const auto count = static_cast<double>(operations);
  return {timed.wall_ns / count, count * threads / timed.total_ns * 1e9,
          static_cast<double>(failed) / static_cast<double>(asked),
          static_cast<double>(held) / count / static_cast<double>(k_device.units()), units.largest_share()};
}

}  // namespace

void churn(const Settings& settings, Report& report) {
  const std::size_t operations = settings.quick ? 20000 : 100000;
  const auto contenders =
      present({Contender::terrace, Contender::paper, Contender::glibc, Contender::jemalloc, Contender::mimalloc});
  std::vector<Plan> plans;
  for (unsigned thread = 0; thread < 8; ++thread) plans.push_back(plan_of(thread + 1, 100000));
  for (int round = 0; round < std::min(settings.rounds, 5); ++round) {
    for (const auto contender : in_turn(contenders, round)) {
      for (const auto threads : {1u, 2u, 4u, 8u}) {
        const auto count = operations / threads;
        const auto result =
            with(contender, [&](auto& subject) { return churned(subject, threads, count, plans); });
        const auto add = [&](const char* measure, const char* unit, double sample) {
          report.add({k_section, "90 %", name_of(contender), measure, threads}, unit, sample);
        };
        add("operation", "ns", result.operation_ns);
        add("throughput", "1/s", result.throughput);
        if (contender > Contender::paper_all) continue;
        add("failed", "%", result.failed * 100);
        add("occupancy", "%", result.occupancy * 100);
        add("largest", "%", result.largest * 100);
      }
    }
  }
  report.table(k_section, "operation", "time of a thread for a request or a release");
  report.table(k_section, "throughput", "operations a second, of all threads");
  report.table(k_section, "failed", "% of the requests that are refused");
  report.table(k_section, "occupancy", "% of the device that is held, on average");
  report.table(k_section, "largest", "largest free rectangle at the end, % of what is free");
}

}  // namespace terrace::pim::bench
