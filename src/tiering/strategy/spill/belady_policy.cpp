// SPDX-License-Identifier: Apache-2.0
// Predicts each chunk's next use from the threads' histories, and selects chunks to prefetch and to evict, for
// out-of-core memory (--memory). See belady_policy.hpp.
#include "strategy/spill/belady_policy.hpp"

#include <algorithm>
#include <exception>

namespace terrace::strategy {

namespace {

using transfer::PageState;

// Times beyond all predictions by histories: from k_unknown on, chunks predicted by reuse distance, in touches;
// from there to k_never, chunks without a prediction, the least recently used last.
constexpr double k_unknown = 1e15;
constexpr double k_never = 2e15;
constexpr double k_trusted = 0.5;          // min share of expected touches of a trusted thread
constexpr std::uint32_t k_row = 4;         // min touched neighbours before the next ones are expected
constexpr std::uint32_t k_neighbours = 4;  // next neighbours that are expected
constexpr std::uint64_t k_recent = 16;     // touches per active thread that count as recent
// After a thread deviates, all chunks are predicted anew, at most once per (number of chunks / k_share) touches.
constexpr std::size_t k_share = 64;
constexpr double k_behind = 8;         // max work, in touches, by which a thread may be behind the others
constexpr std::size_t k_look = 64;     // expected touches among which sentinels are chosen
constexpr std::size_t k_threads = 64;  // max threads with a history
constexpr std::size_t k_steps = 256;   // max steps of the search for a victim
constexpr double k_lessons = 16;       // min sentinels per chunk that may be set to learn a history
constexpr double k_learning = 0.02;    // share of the work that further ones may take
constexpr double k_lesson = 50e-6;     // seconds that one takes
constexpr double k_far = 2.0 / 3;      // share of the time until the last use; chunks used sooner stay
constexpr std::size_t k_overdue = 8;   // overdue chunks examined per victim

}  // namespace

double BeladyPolicy::when(ChunkId chunk) const {
  const auto& state = states_[chunk];
  double soonest = state.interval > 0 ? k_unknown + static_cast<double>(state.touched + state.interval)
                                      : k_never - static_cast<double>(state.touched);
  for (const auto& [number, thread] : threads_)
    if (thread.trusted)
      if (const auto use = thread.history.next_use(chunk)) soonest = std::min(soonest, *use + thread.offset);
  return soonest;
}

// Counts the active threads, which may use data concurrently.
void BeladyPolicy::count_active() {
  if (touches_ < counted_at_ + k_recent) return;
  counted_at_ = touches_;
  const auto active = std::ranges::count_if(
      threads_, [this](const auto& one) { return touches_ - one.second.touched < k_active; });
  active_ = std::max<std::size_t>(k_min_active, static_cast<std::size_t>(active));
}

BeladyPolicy::Order* BeladyPolicy::order_of(PageState residence) {
  if (residence == PageState::swapped_out) return &away_;
  return residence == PageState::empty || residence == PageState::pinned ? nullptr : &present_;
}

// Returns whether touches of the chunk do not fault.
bool BeladyPolicy::is_unnoticed(ChunkId chunk) const {
  const auto residence = states_[chunk].residence;
  return residence == PageState::mapped || residence == PageState::pinned;
}

void BeladyPolicy::remove(ChunkId chunk) {
  const auto& state = states_[chunk];
  if (auto* const order = order_of(state.residence)) order->erase({state.when, chunk});
  if (state.ahead) ahead_.erase({state.when, chunk});
}

void BeladyPolicy::insert_predicted(ChunkId chunk) {
  auto& state = states_[chunk];
  state.when = when(chunk);
  if (auto* const order = order_of(state.residence)) order->insert({state.when, chunk});
  if (state.ahead) ahead_.insert({state.when, chunk});
}

// Updates the chunk's predicted use.
void BeladyPolicy::reinsert(ChunkId chunk) {
  remove(chunk);
  insert_predicted(chunk);
}

void BeladyPolicy::repredict_all() {
  expected_at_ = touches_;
  has_deviation_ = false;
  std::vector<ChunkId> chunks;
  for (auto* const order : {&present_, &away_}) {
    for (const auto& [time, chunk] : *order) chunks.push_back(chunk);
    order->clear();
  }
  ahead_.clear();
  for (const auto chunk : chunks) insert_predicted(chunk);
}

// Programs may start any number of threads: replaces the least recently active one.
BeladyPolicy::Thread& BeladyPolicy::thread_of(std::uint32_t number) {
  const auto known = threads_.find(number);
  if (known != threads_.end()) return known->second;
  if (threads_.size() == k_threads)
    threads_.erase(std::ranges::min_element(threads_, {}, [](const auto& one) { return one.second.touched; }));
  return threads_[number];
}

bool BeladyPolicy::on_access(ChunkId chunk, std::uint32_t number, Seconds worked) noexcept {
  try {
    if (chunk >= states_.size()) states_.resize(chunk + 1);
    auto& thread = thread_of(number);
    passed_.clear();
    const auto before = thread.history.here();
    const auto match = thread.history.add(
        chunk, worked, [this](ChunkId other) { return is_unnoticed(other); }, passed_);
    // Moves the thread's predictions to the others' present position after it deviated, or if it is far behind
    // them: it had less work, or waited more.
    const bool expected = match == TouchHistory::Match::expected;
    const bool elsewhere = match == TouchHistory::Match::elsewhere;
    worked_ += worked.value;
    ++touches_;
    count_active();
    const auto ahead = thread.history.here() + thread.offset - now_;
    const bool behind = ahead < -k_behind * worked_ / static_cast<double>(touches_);
    if (elsewhere || behind)
      thread.offset -= ahead;
    else
      now_ = std::max(now_, now_ + ahead);
    auto& state = states_[chunk];
    // A chunk in use may be touched again soon because a sentinel was set on it; that is no reuse distance.
    const auto gap = state.touched > 0 ? touches_ - state.touched : 0;
    if (gap > k_recent * active_ || state.interval == 0) state.interval = gap;
    state.touched = thread.touched = touches_;
    if (!expected) state.in_use = touches_ + k_recent * active_;  // prevents its eviction while it is in use
    const bool in_row = extend_row(thread, chunk);
    const bool trusted = thread.history.hit_share() >= k_trusted;
    has_deviation_ = has_deviation_ || elsewhere || behind || trusted != thread.trusted;
    thread.trusted = trusted;
    const auto all = present_.size() + away_.size();
    if (has_deviation_ && touches_ - expected_at_ > all / k_share) {
      repredict_all();
    } else {
      for (const auto other : passed_) reinsert(other);
      reinsert(chunk);
    }
    const auto advanced = expected ? passed_.size() + 1 : 0;
    thread.looked_ahead = !elsewhere && thread.looked_ahead > advanced ? thread.looked_ahead - advanced : 0;
    if (trusted) choose_sentinels(thread);
    thread.worked += worked.value;
    if (elsewhere)
      thread.expected_run = {};
    else
      thread.expected_run = {thread.expected_run.touches + advanced, thread.expected_run.worked + worked.value,
                             thread.expected_run.expected + thread.history.here() - before};
    latest_ = {chunk, number, advanced, elsewhere};
    learn(thread, chunk, !elsewhere);
    return in_row || (trusted && expected);
  } catch (const std::exception&) {
    threads_.clear();  // out of memory: forget the histories
    latest_ = {chunk, number, 0, true};
    return false;
  }
}

void BeladyPolicy::choose_sentinels(Thread& thread) {
  if (thread.looked_ahead == 0) thread.num_unmarked = 0;
  for (; thread.looked_ahead < k_look; ++thread.looked_ahead) {
    const auto chunk = thread.history.expected(thread.looked_ahead);
    if (!chunk) return;
    if (states_[*chunk].residence == PageState::pinned) continue;
    thread.num_unmarked = states_[*chunk].residence == PageState::mapped ? thread.num_unmarked + 1 : 0;
    if (thread.num_unmarked < k_sentinel_spacing) continue;
    sentinels_.push_back(*chunk);
    thread.num_unmarked = 0;
  }
}

bool BeladyPolicy::is_known() const noexcept {
  return std::ranges::none_of(
      threads_, [&](const auto& one) { return !one.second.learned && touches_ - one.second.touched < k_active; });
}

// Most touches of mapped chunks go unnoticed. Until a thread has repeated its history once, touch by touch,
// sentinels are set on chunks that were not touched for a while, so that the history has every use of them.
void BeladyPolicy::learn(Thread& thread, ChunkId chunk, bool expected) {
  thread.streak = expected ? thread.streak + 1 : 0;
  const auto period = thread.history.period();
  if (thread.history.hit_share() < k_learned)
    thread.learned = false;
  else if (period > 0 && thread.streak >= period)
    thread.learned = true;
  if (is_known()) {
    noticed_.clear();
    is_learning_ = false;
    return;
  }
  if (!is_learning_) add_all_sentinels();
  is_learning_ = true;
  noticed_.push_back({chunk, touches_});
  for (; !noticed_.empty() && noticed_.front().touched + k_recent * active_ < touches_; noticed_.pop_front()) {
    const auto& state = states_[noticed_.front().chunk];
    const auto most = k_lessons * static_cast<double>(states_.size()) + k_learning * worked_ / k_lesson;
    if (state.residence != PageState::mapped || state.touched != noticed_.front().touched ||
        static_cast<double>(learned_by_) >= most)
      continue;
    ++learned_by_;
    sentinels_.push_back(noticed_.front().chunk);
  }
}

// Sets sentinels on all mapped chunks that were not touched recently.
void BeladyPolicy::add_all_sentinels() {
  for (const auto& [time, chunk] : present_)
    if (states_[chunk].residence == PageState::mapped && touches_ - states_[chunk].touched > k_recent * active_) {
      sentinels_.push_back(chunk);
      ++learned_by_;
    }
}

void BeladyPolicy::on_state_change(ChunkId chunk, PageState to) noexcept {
  try {
    if (chunk >= states_.size()) states_.resize(chunk + 1);
    auto& state = states_[chunk];
    returned_victims_.clear();
    if (state.residence == to) return;
    remove(chunk);
    state.ahead = state.residence == PageState::swapped_out && to == PageState::unmapped_resident;
    state.residence = to;
    insert_predicted(chunk);
  } catch (const std::exception&) {
    threads_.clear();
  }
}

std::optional<ChunkId> BeladyPolicy::next_sentinel() noexcept {
  if (sentinels_.empty()) return {};
  const auto chunk = sentinels_.back();
  sentinels_.pop_back();
  return chunk;
}

// Examines chunks whose predicted use is overdue. The use of a mapped chunk would go unnoticed: it gets a
// sentinel, and the same time again. A chunk that had a sentinel is no longer expected.
void BeladyPolicy::check_overdue() {
  for (std::size_t looked = 0; looked < k_overdue; ++looked) {
    const auto first = present_.lower_bound({k_unknown, 0});
    if (first == present_.end() || first->first >= k_never / 2 + static_cast<double>(touches_)) return;
    const auto chunk = first->second;
    auto& state = states_[chunk];
    if (state.touched + 2 * state.interval > touches_) return;
    if (state.residence == PageState::mapped) {
      sentinels_.push_back(chunk);
      state.touched = touches_;
    } else {
      state.interval = 0;
    }
    reinsert(chunk);
  }
}

// Touches of mapped neighbours go unnoticed, so a row may continue after some of those. Returns true if the row
// was long enough that its continuation was expected.
bool BeladyPolicy::extend_row(Thread& thread, ChunkId chunk) const {
  const auto goes_on = [&](const Thread::Row& row) {
    if (row.length == 0 || chunk <= row.latest || chunk - row.latest > k_neighbours) return false;
    for (auto between = row.latest + 1; between < chunk; ++between)
      if (!is_unnoticed(between)) return false;
    return true;
  };
  auto row = std::ranges::find_if(thread.rows, goes_on);
  if (row == thread.rows.end()) {
    row = std::ranges::min_element(thread.rows, {}, &Thread::Row::touched);
    row->length = 0;
  }
  *row = {chunk, row->length + 1, touches_};
  return row->length > k_row;
}

// Returns the next neighbour on disk of a recently extended row, nearest first.
std::optional<BeladyPolicy::Choice> BeladyPolicy::next_neighbour() const {
  if (ahead_.size() >= k_depth) return {};
  for (std::uint32_t i = 1; i <= k_neighbours; ++i)
    for (const auto& [number, thread] : threads_)
      for (const auto& row : thread.rows)
        if (row.length >= k_row && touches_ - row.touched <= k_recent * active_ &&
            row.latest + i < states_.size() && states_[row.latest + i].residence == PageState::swapped_out)
          return Choice{row.latest + i, now_};
  return {};
}

std::optional<BeladyPolicy::Choice> BeladyPolicy::next_prefetch() noexcept {
  if (away_.empty() || away_.begin()->first >= k_unknown) return next_neighbour();
  const auto& [time, chunk] = *away_.begin();
  std::size_t before = 0;
  for (auto one = ahead_.begin(); one != ahead_.end() && one->first < time; ++one)
    if (++before == k_depth) return {};
  return Choice{chunk, time};
}

// Selects the chunk used last, as long as that is far off; but among chunks with adjacent uses only the share that
// is on disk anyway. So the resulting fetches are spread over time, and the disk works concurrently with the
// program.
std::optional<BeladyPolicy::Choice> BeladyPolicy::next_victim() noexcept {
  try {
    check_overdue();
  } catch (const std::exception&) {
    threads_.clear();
  }
  const auto all = present_.size() + away_.size();
  const auto share = static_cast<double>(away_.size() + 1) / static_cast<double>(all + 1);
  const auto unknown = present_.lower_bound({k_unknown, 0});
  const auto soonest = unknown == present_.begin() ? now_ : now_ + k_far * (std::prev(unknown)->first - now_);
  auto other = away_.rbegin();
  double due = 0;
  std::optional<Choice> second;
  std::optional<Choice> in_use;  // last resort
  std::size_t steps = 0;
  for (auto one = present_.rbegin(); one != present_.rend() && (steps < k_steps || !second); ++one, ++steps) {
    for (; other != away_.rend() && *other > *one && steps < k_steps; ++other, ++steps)
      if (other->first < k_unknown) due = std::max(due + share - 1, -1.0);
    if (std::ranges::count(returned_victims_, one->second) > 0) continue;
    const bool known = one->first < k_unknown;
    if (known) due += share;
    if (known && states_[one->second].in_use > touches_) {
      if (!in_use) in_use = Choice{one->second, one->first};
      continue;
    }
    if (second && known && one->first < soonest) break;
    if (!second) second = Choice{one->second, one->first};
    if (known ? due < 1 : touches_ - states_[one->second].touched < k_recent * active_) continue;
    second = Choice{one->second, one->first};
    break;
  }
  if (!second) second = in_use;
  try {
    if (second) returned_victims_.push_back(second->chunk);
  } catch (const std::exception&) {
    return {};
  }
  return second;
}

}  // namespace terrace::strategy
