// SPDX-License-Identifier: Apache-2.0
// Forecasts the time until the program's threads have done their next expected touches, so that the pager can
// report predicted and measured time. Part of BeladyPolicy. See belady_policy.hpp; the forecast itself is in
// forecast.hpp.
#include <algorithm>
#include <exception>

#include "strategy/spill/belady_policy.hpp"

namespace terrace::strategy {

namespace {

constexpr std::size_t k_max_touches = 4096;  // of all threads in a window
constexpr std::size_t k_min_touches = 16;    // of the thread that the window is for
constexpr std::size_t k_known = 64;          // min preceding touches that came as expected
constexpr double k_alike = 2;                // max ratio of the present to the recorded work
// Seconds between forecasts per touch of the forecast, which takes less than a hundredth of that.
constexpr double k_per_touch = 100e-6;

}  // namespace

// Returns whether the thread's next touches are predictable: it has done its last ones as expected, with about the
// same work as recorded.
bool BeladyPolicy::has_expected_run(const Thread& thread) {
  const auto& [touches, worked, expected] = thread.expected_run;
  return thread.trusted && thread.history.hit_share() >= k_learned && touches >= k_known &&
         worked < k_alike * expected && expected < k_alike * worked;
}

// Returns whether the thread that has just touched a chunk is predictable, and has the most work of such threads.
bool BeladyPolicy::can_begin_window() const {
  const auto found = threads_.find(latest_.thread);
  if (found == threads_.end() || latest_.advanced == 0) return false;
  const auto& thread = found->second;
  return has_expected_run(thread) && std::ranges::none_of(threads_, [&](const auto& one) {
           return one.second.worked > thread.worked && has_expected_run(one.second) &&
                  touches_ - one.second.touched < k_active;
         });
}

// Returns the expected touches of the thread that has just touched a chunk, for one period of its history, merged
// with those of the other trusted threads that come before, if all threads continue from their present positions.
std::vector<ExpectedTouch> BeladyPolicy::expected_touches() const {
  struct Path {
    const TouchHistory* history = nullptr;
    std::size_t taken = 0;
    double at = 0;  // of its next touch
  };
  std::vector<Path> paths;
  const auto add = [&](const TouchHistory& history) {
    if (history.expected(0)) paths.push_back({&history, 0, history.work_before(0)});
  };
  const auto& followed = threads_.at(latest_.thread).history;
  add(followed);
  for (const auto& [number, thread] : threads_)
    if (number != latest_.thread && thread.trusted && touches_ - thread.touched < k_active) add(thread.history);
  std::vector<ExpectedTouch> touches{{latest_.chunk, 0, 0}};
  const auto whole = std::min(followed.period(), threads_.at(latest_.thread).expected_run.touches);
  if (paths.empty() || paths.front().history != &followed) return {};
  while (touches.size() < k_max_touches && paths.front().taken < whole) {
    auto& path = *std::ranges::min_element(paths, {}, &Path::at);
    const auto thread = static_cast<std::uint32_t>(&path - paths.data());
    const auto& history = *path.history;
    touches.push_back({*history.expected(path.taken), thread, history.work_before(path.taken)});
    ++path.taken;
    if (history.expected(path.taken))
      path.at += history.work_before(path.taken);
    else
      path.at = 1e300;
  }
  if (paths.front().taken < k_min_touches) return {};
  return touches;
}

void BeladyPolicy::add_progress(Seconds now) {
  const auto found = threads_.find(latest_.thread);
  if (found == threads_.end()) return;
  auto& thread = found->second;
  const Progress here{now, Seconds{thread.history.done()}};
  if (thread.counted) {
    progress_.taken += here.taken - thread.counted->taken;
    progress_.done += here.done - thread.counted->done;
  }
  thread.counted = here;
}

transfer::PredictionTotals BeladyPolicy::predicted(const transfer::SpillStatistics& measured) noexcept {
  add_progress(measured.now);
  try {
    if (windows_.is_open()) {
      const auto followed = threads_.find(windows_.thread());
      const bool is_gone = followed == threads_.end() || touches_ - followed->second.touched >= k_active;
      if (is_gone || (latest_.thread == windows_.thread() && latest_.elsewhere))
        windows_.discard();
      else if (latest_.thread == windows_.thread())
        windows_.advance(latest_.advanced, measured.now);
    }
    if (windows_.is_open() || measured.now < next_forecast_ || !can_begin_window()) return windows_.totals();
    const auto touches = expected_touches();
    auto state = windows_.state(
        measured, std::ranges::any_of(touches, [](const ExpectedTouch& touch) { return touch.thread > 0; }));
    state.present = present_.size();
    windows_.begin(latest_.thread, measured.now,
                   forecast(touches, state, [&](ChunkId chunk) { return states_[chunk].residence; }));
    next_forecast_ = measured.now + Seconds{k_per_touch * static_cast<double>(touches.size())};
  } catch (const std::exception&) {
    windows_.discard();  // out of memory
  }
  return windows_.totals();
}

}  // namespace terrace::strategy
