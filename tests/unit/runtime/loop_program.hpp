// A scripted program whose calls, loops and work are given, for tests of the loop finder.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/loop_finder.hpp"

namespace terrace::runtime {

using observe::LoopId;
using Log = std::vector<std::string>;

inline constexpr std::uint64_t k_heads = 1 << 20;   // loop n begins at k_heads + n
inline constexpr std::uint64_t k_turns = 2 << 20;   // k_turns + n reports an iteration of loop n
inline constexpr std::uint64_t k_enters = 3 << 20;  // k_enters + n its entry
inline constexpr std::uint64_t k_ends = 4 << 20;    // k_ends + n the end of an iteration

// Nested loops by number, each with its enclosing loop.
class Code final : public observe::LoopCode {
 public:
  explicit Code(std::map<LoopId, Loop> loops) : loops_(std::move(loops)) {}
  [[nodiscard]] Mark mark(std::uint64_t site) const override {
    if (site >= k_ends) return {static_cast<LoopId>(site - k_ends), 0, true};
    if (site >= k_enters) return {0, static_cast<LoopId>(site - k_enters)};
    return {static_cast<LoopId>(site - k_turns), 0};
  }
  [[nodiscard]] Loop loop(LoopId id) const override {
    auto loop = loops_.at(id);
    loop.head = k_heads + id;
    loop.function = 1;
    return loop;
  }
  // A call from loop n has the site n.
  [[nodiscard]] Place place(std::uint64_t call_site) const override { return {static_cast<LoopId>(call_site), 1}; }

 private:
  std::map<LoopId, Loop> loops_;
};

// A program that reports its calls, loops and work to a LoopFinder, and logs the boundaries.
class Program {
 public:
  explicit Program(std::map<LoopId, observe::LoopCode::Loop> loops, const std::string& wanted = "",
                   const std::vector<std::string>& phases = {})
      : code_(std::move(loops)),
        finder_(
            code_,
            [](const LoopFinder::Node& node) {
              return node.is_loop ? "loop " + std::to_string(node.code - k_heads)
                                  : "f" + std::to_string(node.code);
            },
            [this](const PhaseBoundary& boundary) {
              if (boundary.ends_loop) {
                log.emplace_back("end");
                if (!is_seen_) see(true);
              }
              if (!boundary.begins_loop.empty()) {
                log.push_back("begin " + boundary.begins_loop);
                iterations_before = boundary.iterations_before;
              }
              if (!boundary.phase.empty()) log.push_back(boundary.phase);
            },
            wanted, phases) {
    call(0, 0);
  }
  void call(std::uint64_t function, LoopId from) { finder_.tree().enter(function, from, ++depth_, now_); }
  void leave() { finder_.tree().leave(--depth_, now_); }
  void turn(LoopId loop) { finder_.tree().block(k_turns + loop, depth_, now_); }
  void end_turn(LoopId loop) { finder_.tree().block(k_ends + loop, depth_, now_); }
  void enter(LoopId loop) { finder_.tree().block(k_enters + loop, depth_, now_); }
  // Accesses memory in that loop.
  void access(LoopId loop) { finder_.tree().sample(loop, depth_, now_); }
  void jump(std::uint32_t calls) { depth_ -= calls; }
  void set_observes_all_iterations(bool all) { finder_.set_observes_all_iterations(all); }
  void see(bool seen) { finder_.set_observed(seen), is_seen_ = seen; }
  // As on real memory, where active hooks count work while the clock stands.
  void count_unseen() { counts_unseen_ = true; }
  void go_by_clock() {
    count_unseen();
    finder_.set_by_clock(true);
  }
  // Does work over `regions` regions of memory, starting at `region`.
  void work(std::uint64_t work, std::uint64_t region = 0, std::uint64_t regions = 32) {
    if (!is_seen_ && !counts_unseen_) return;
    now_ += work;
    if (!is_seen_) return;
    for (std::uint64_t i = 0; i < regions; ++i) finder_.tree().record_miss(region + i);
  }
  void run(std::uint64_t function, LoopId from, std::uint64_t amount, std::uint64_t region = 0) {
    call(function, from);
    work(amount, region);
    leave();
  }

  [[nodiscard]] std::vector<profile::LoopCandidate> candidates() const { return finder_.candidates().loops; }
  [[nodiscard]] std::string failure_reason() const { return finder_.failure_reason(); }

  Log log;
  std::uint32_t iterations_before = 0;  // of the loop that began last

 private:
  Code code_;
  LoopFinder finder_;
  bool is_seen_ = true;
  bool counts_unseen_ = false;
  std::uint32_t depth_ = 0;
  observe::Work now_ = 0;
};

inline constexpr observe::Work k_much = 1 << 20;

}  // namespace terrace::runtime
