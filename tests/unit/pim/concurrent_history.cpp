#include <array>
#include <atomic>
#include <barrier>
#include <random>
#include <thread>

#include "brute_force.hpp"
#include "histories.hpp"

namespace terrace::pim {
namespace {

constexpr std::size_t k_threads = 2;
constexpr std::size_t k_steps = 4;  // per thread

struct Step {
  std::uint64_t begun = 0, ended = 0;
  Request request;               // an allocation, unless
  Handle released{};             // the block to release
  Handle handle{};               // outcome of an allocation
  std::optional<Block> block{};  // its location
  Released outcome = Released::done;
};
using Histories = std::array<std::vector<Step>, k_threads>;

// Checks linearizability: searches a sequential order that explains the observed history (Wing and Gong,
// "Testing and verifying concurrent objects", 1993).
class Order {
 public:
  Order(const Geometry& geometry, const Histories& history) : truth_(geometry), history_(history) {}

  bool exists() {
    std::uint64_t first_end = ~std::uint64_t{0};
    bool all = true;
    for (std::size_t t = 0; t < k_threads; ++t) {
      if (done_[t] == history_[t].size()) continue;
      all = false;
      first_end = std::min(first_end, history_[t][done_[t]].ended);
    }
    if (all) return true;
    for (std::size_t t = 0; t < k_threads; ++t) {
      if (done_[t] == history_[t].size()) continue;
      const auto& step = history_[t][done_[t]];
      if (step.begun > first_end || !possible(step)) continue;
      ++done_[t];
      apply(step, true);
      if (exists()) return true;
      apply(step, false);
      --done_[t];
    }
    return false;
  }

 private:
  [[nodiscard]] bool possible(const Step& step) const {
    if (step.released) {
      const auto* block = find(step.released);
      const bool live = block != nullptr && std::ranges::count(live_, step.released) > 0;
      return step.outcome == (live ? Released::done : Released::already);
    }
    if (step.block) return truth_.may_be(step.request, std::nullopt, *step.block) && truth_.is_free(*step.block);
    bool room = false;
    truth_.visit(step.request, std::nullopt, [&](const Block&) { return room = true; });
    return !room;
  }
  void apply(const Step& step, bool forward) {
    if (step.released && step.outcome == Released::done) {
      truth_.mark(*find(step.released), !forward);
      set(step.released, !forward);
    } else if (step.block) {
      truth_.mark(*step.block, forward);
      set(step.handle, forward);
    }
  }
  void set(Handle handle, bool live) {
    if (live)
      live_.push_back(handle);
    else
      live_.erase(std::ranges::find(live_, handle));
  }
  [[nodiscard]] const Block* find(Handle handle) const {
    for (const auto& steps : history_)
      for (const auto& step : steps)
        if (step.block && step.handle == handle) return &*step.block;
    return nullptr;
  }

  BruteForce truth_;
  const Histories& history_;
  std::array<std::size_t, k_threads> done_{};
  std::vector<Handle> live_;
};

// Start barrier, so that threads run concurrently where processors allow.
class Start {
 public:
  void wait() {
    ++here_;
    for (int spins = 0; here_ < k_threads; ++spins)
      if (spins > 1000) std::this_thread::yield();
  }

 private:
  std::atomic<std::size_t> here_{0};
};

class Round {
 public:
  explicit Round(std::uint64_t seed)
      : seed_(seed), dice_(seed), geometry_(geometry()), allocator_(geometry_), handles_(k_known) {
    // Nearly full, so that each release decides whether another allocation succeeds.
    for (std::size_t i = 0; i < k_known && allocator_.free_units() > 1 + dice_() % 3; ++i) {
      Step step;
      step.request = request(dice_);
      step.request.shape.rows = 1;
      carry_out(step, history_[0]);
      handles_[i] = step.handle.value;
    }
  }

  void play(std::size_t thread) {
    std::mt19937_64 dice(seed_ * k_threads + thread);
    std::array<Step, k_steps> steps;
    for (auto& step : steps) step.request = request(dice);
    start_.wait();
    for (auto& step : steps) {
      // Picks any block: two threads may release the same one.
      auto& known = handles_[dice() % handles_.size()];
      step.released = {dice() % 2 == 0 ? known.load(std::memory_order_relaxed) : 0};
      carry_out(step, history_[thread]);
      if (step.handle) known.store(step.handle.value, std::memory_order_relaxed);
    }
  }

  std::string judge() {
    // Another thread may have released the block: only its begin is known.
    for (auto& steps : history_)
      for (auto& step : steps)
        if (const auto begin = allocator_.begin_of(step.handle))
          step.block = Block{begin->device, begin->bank * geometry_.subarrays + begin->subarray, begin->row,
                             step.request.shape};
    if (Order(geometry_, history_).exists()) return {};
    return "seed " + std::to_string(seed_) + ", " + describe(geometry_) + ": no order explains what was seen";
  }

 private:
  static constexpr std::size_t k_known = 6;

  Geometry geometry() {
    const auto up_to = [&](std::uint64_t most) { return static_cast<std::uint32_t>(1 + dice_() % most); };
    return {up_to(2), 8, up_to(2), up_to(6), 1};
  }
  Request request(std::mt19937_64& dice) const {
    Request request;
    request.within = static_cast<Within>(1 + dice() % 2);
    const auto widest = request.within == Within::bank ? geometry_.subarrays : geometry_.width();
    request.shape = {static_cast<std::uint32_t>(1 + dice() % geometry_.rows),
                     static_cast<std::uint32_t>(1 + (dice() % 2 == 0 ? 0 : dice() % widest))};
    request.fit = dice() % 4 == 0 ? Fit::best : Fit::first;
    return request;
  }
  void carry_out(Step& step, std::vector<Step>& history) {
    step.begun = clock_.fetch_add(1);
    if (step.released)
      step.outcome = allocator_.release(step.released);
    else
      step.handle = allocator_.allocate(step.request);
    step.ended = clock_.fetch_add(1);
    history.push_back(step);
  }

  std::uint64_t seed_;
  std::mt19937_64 dice_;
  Geometry geometry_;
  Allocator allocator_;
  std::vector<std::atomic<std::uint64_t>> handles_;
  std::array<std::vector<Step>, k_threads> history_;
  std::atomic<std::uint64_t> clock_{1};
  Start start_;
};

}  // namespace

std::string concurrent_histories(std::uint64_t seed, std::uint64_t count) {
  std::unique_ptr<Round> round = std::make_unique<Round>(seed);
  std::string wrong;
  std::uint64_t played = 0;
  const auto next = [&]() noexcept {
    wrong = round->judge();
    if (++played < count && wrong.empty()) round = std::make_unique<Round>(seed + played);
  };
  std::barrier begin(k_threads);
  std::barrier end(k_threads, next);
  const auto work = [&](std::size_t thread) {
    while (played < count && wrong.empty()) {
      begin.arrive_and_wait();
      round->play(thread);
      end.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < k_threads; ++t) others.emplace_back(work, t);
    work(0);
  }
  return wrong;
}

}  // namespace terrace::pim
