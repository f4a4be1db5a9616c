// SPDX-License-Identifier: Apache-2.0
// Finds main loop, iterations and phases of an MPI program from calls and counted iterations. See
// mpi_loop_finder.hpp.
#include "runtime/mpi/mpi_loop_finder.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace terrace::runtime {

namespace {

// Returns whether all iterations of the loop are reported from its first one on.
bool is_reported(LoopHead head) { return (head & k_reported_head) != 0; }

bool needs_no_probe(LoopHead head) { return (head & (k_reported_head | k_called_head)) != 0; }

}  // namespace

void MpiLoopFinder::set_loops(CallPath path, std::vector<LoopHead> loops) {
  auto& known = paths_[path];
  known.has_loops = true;
  known.loops = std::move(loops);
  std::erase_if(known.loops, [this](LoopHead head) { return rejected_.contains(head); });
  ++active_version_;
  is_stale_ = is_stale_ || std::ranges::find(events_, path, &MpiCallEvent::path) != events_.end();
}

void MpiLoopFinder::reject(LoopHead head) {
  if (!rejected_.insert(head).second) return;
  if (head == main_) end_main();
  for (auto& [path, known] : paths_) std::erase(known.loops, head);
  ++active_version_;
  is_stale_ = true;
}

void MpiLoopFinder::on_iterations(LoopHead head, std::uint32_t times) {
  const auto loop = std::ranges::find(active_, head, &Active::head);
  if (loop != active_.end()) loop->pending += times;
}

// Enters and leaves candidates as the event's path says. A path of unknown loops changes nothing.
void MpiLoopFinder::update_active(std::size_t number, Path& path) {
  if (!path.has_loops || path.checked == active_version_) return;
  const auto& loops = path.loops;
  std::size_t common = 0;
  while (common < active_.size() && common < loops.size() && active_[common].head == loops[common]) ++common;
  if (common < active_.size() || common < loops.size()) ++active_version_;
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(common), active_.end());
  for (; common < loops.size(); ++common) {
    active_.emplace_back(loops[common], number);
    if (!is_reported(loops[common])) continue;
    active_.back().probed_at = number;
    active_.back().observed_since = event(number).begin;
  }
  path.checked = active_version_;
}

bool MpiLoopFinder::is_active(LoopHead head) const {
  return std::ranges::find(active_, head, &Active::head) != active_.end();
}

// Determines the candidates that the program is in again, from the remembered events.
void MpiLoopFinder::rebuild_active() {
  is_stale_ = false;
  auto known = std::move(active_);
  active_.clear();
  ++active_version_;
  for (auto number = forgotten_; number < num_events(); ++number)
    update_active(number, paths_[event(number).path]);
  for (auto& loop : active_) {
    const auto before = std::ranges::find(known, loop.head, &Active::head);
    if (before == known.end() || !before->probed_at) continue;
    if (*before->probed_at >= loop.first_event || loop.first_event == forgotten_) {
      const auto first = loop.first_event;
      loop = std::move(*before);
      loop.first_event = first;
    }
  }
}

// Probes the outermost candidates in which there were some calls; only enclosing ones once there is a main loop.
void MpiLoopFinder::choose_probes() {
  if (chosen_for_ == active_version_) return;
  chosen_for_ = active_version_;
  ++probes_version_;
  probes_.clear();
  for (auto& loop : active_) {
    if (needs_no_probe(loop.head)) continue;
    if (probes_.size() == k_max_probes) break;
    if (num_events() - loop.first_event < k_min_events) {  // inner ones have no more
      chosen_for_ = 0;
      break;
    }
    if (!loop.probed_at) {
      loop.probed_at = num_events();
      loop.observed_since = events_.back().begin;
    }
    probes_.push_back(loop.head);
    if (loop.head == main_) break;
  }
}

bool MpiLoopFinder::begin_iterations(std::size_t number) {
  bool any = false;
  for (auto& loop : active_) {
    if (loop.pending == 0) continue;
    loop.without_calls += std::exchange(loop.pending, 0) - 1;
    loop.iterations.push_back(number);
    // A breakpoint may be left from an earlier visit, in which the loop was probed.
    if (loop.observed_since.value == 0) loop.observed_since = event(number).begin;
    any = true;
  }
  return any;
}

// Returns whether the second half of the complete iterations took about as long as the first half; of the last two
// at least. Halves, because output or a reduction may belong to every n-th iteration only.
bool MpiLoopFinder::is_steady(const Active& loop) const {
  const auto count = loop.iterations.size();
  if (count < 3) return false;
  const auto half = (count - 1) / 2;
  const auto at = [&](std::size_t back) { return event(loop.iterations[count - 1 - back]).begin; };
  const auto last = at(0) - at(half);
  const auto before = at(half) - at(2 * half);
  return std::max(last, before) <= k_max_ratio * std::min(last, before);
}

// Returns the position in active_ of the loop to be the main loop, if it begins an iteration now.
std::size_t MpiLoopFinder::choose_main() const {
  const auto now = num_events() - 1;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto& loop = active_[i];
    if (loop.head == main_) return k_nothing;  // no enclosing loop replaces it
    if (loop.iterations.empty() || loop.iterations.back() != now || !is_steady(loop)) continue;
    const auto observed = event(now).begin - loop.observed_since;
    // Programs have short loops before and after the main loop.
    if (i == 0 && (is_reported(loop.head) || observed >= k_short_patience)) return i;
    // Enclosing loops may yet turn out to be the main loop.
    const auto enclosing = std::span(active_).first(i);
    const bool is_alone = std::ranges::all_of(enclosing, [](const Active& one) { return one.iterations.empty(); });
    if (loop.iterations.size() > k_min_inner && observed >= (is_alone ? k_short_patience : k_patience)) return i;
  }
  return k_nothing;
}

// Returns the number of iterations that ended before the loop was probed.
MpiLoopFinder::EarlierIterations MpiLoopFinder::iterations_before(const Active& loop) const {
  const auto& begins = loop.iterations;
  const auto first = std::max(loop.first_event, forgotten_);
  if (begins.front() <= first) return {};
  if (is_reported(loop.head)) return {1};
  // The paths that occur equally often in each complete iteration.
  std::map<CallPath, std::uint64_t> regular;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    std::map<CallPath, std::uint64_t> count;
    for (auto number = begins[i]; number < begins[i + 1]; ++number) ++count[event(number).path];
    if (i == 0)
      regular = std::move(count);
    else
      std::erase_if(regular, [&](const auto& one) {
        const auto found = count.find(one.first);
        return found == count.end() || found->second != one.second;
      });
  }
  std::optional<std::uint64_t> found;
  for (const auto& [path, per_iteration] : regular) {
    std::uint64_t earlier = 0;
    for (auto number = first; number < begins.front(); ++number) earlier += event(number).path == path ? 1 : 0;
    if (earlier % per_iteration == 0) found = std::max(found.value_or(0), earlier / per_iteration);
  }
  if (found) return {*found};
  const auto mean =
      (event(begins.back()).begin - event(begins.front()).begin) / static_cast<double>(begins.size() - 1);
  const auto estimate = (event(begins.front()).begin - event(first).begin) / mean;
  const auto whole = static_cast<std::uint64_t>(estimate);
  return {estimate - static_cast<double>(whole) < 0.5 ? whole : whole + 1, true};  // std::lround() would need libm
}

void MpiLoopFinder::select_main(std::size_t position) {
  if (main_ != 0) end_main();
  const auto& loop = active_[position];
  const auto count = loop.iterations.size();
  std::vector<MpiIteration> observed;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const auto begin = loop.iterations[i] - forgotten_;
    const auto end = loop.iterations[i + 1] - forgotten_;
    observed.push_back({std::span(events_).subspan(begin, end - begin), events_[end].begin});
  }
  for (const auto& [path, phase] : choose_mpi_phases(observed)) paths_[path].phase = phase;
  main_ = loop.head;
  chosen_for_ = 0;
  loop_name_ = names_.loop(main_);
  const auto earlier = iterations_before(loop);
  is_estimate_ = earlier.is_estimate;
  before_ = earlier.number + count - 1 + loop.without_calls;
  reported_ = 0;
  report_iteration(true);
}

void MpiLoopFinder::report_iteration(bool begins_loop) {
  PhaseBoundary boundary;
  if (begins_loop) {
    boundary.begins_loop = loop_name_;
    boundary.why = "the outermost loop around MPI calls whose iterations take similar time";
    if (is_estimate_) boundary.why += " (the first iterations are estimated from their mean time)";
    boundary.iterations_before = static_cast<std::uint32_t>(before_);
    is_reported_ = true;
  }
  ++reported_;
  boundary.phase = loop_name_;
  on_boundary_(boundary);
}

void MpiLoopFinder::report_phase(std::string name) {
  // A phase with the loop's name begins an iteration. A call on the line of the loop's condition begins none.
  if (name == loop_name_) name += " after call";
  PhaseBoundary boundary;
  boundary.phase = std::move(name);
  on_boundary_(boundary);
}

void MpiLoopFinder::on_call_begin(CallPath path, bool ends_phase, Seconds now) {
  if (is_stale_) rebuild_active();
  events_.push_back({path, ends_phase, now, now});
  const auto number = num_events() - 1;
  auto& known = *(last_path_ = &paths_[path]);
  update_active(number, known);
  if (main_ != 0 && !is_active(main_)) end_main();
  // The hit by which a loop ends precedes a call outside of it, so a call of unknown place begins no iteration.
  const bool begins = known.has_loops && begin_iterations(number);
  const auto main_before = main_;
  if (begins)
    if (const auto chosen = choose_main(); chosen != k_nothing) select_main(chosen);
  if (main_ != 0 && main_ == main_before) {
    const auto loop = std::ranges::find(active_, main_, &Active::head);
    if (!loop->iterations.empty() && loop->iterations.back() == number)
      report_iteration(false);
    else if (known.phase.at_begin)
      report_phase(names_.call(path));
  }
  choose_probes();
}

void MpiLoopFinder::on_call_end(Seconds now) {
  if (events_.empty()) return;
  auto& last = events_.back();
  last.end = now;
  if (is_reported_ && last_path_->phase.at_end) report_phase(names_.site(last.path));
  if (events_.size() >= k_max_events) forget_events();
}

// Forgets the older half of the events; the visits of loops that began there are known to have begun earlier.
void MpiLoopFinder::forget_events() {
  const auto half = events_.size() / 2;
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(half));
  forgotten_ += half;
  for (auto& loop : active_) {
    const auto kept = std::ranges::lower_bound(loop.iterations, forgotten_);
    if (loop.head != main_) loop.without_calls += static_cast<std::uint64_t>(kept - loop.iterations.begin());
    loop.iterations.erase(loop.iterations.begin(), kept);
  }
}

void MpiLoopFinder::end_main() {
  main_ = 0;
  chosen_for_ = 0;
  for (auto& [path, known] : paths_) known.phase = {};
  if (!std::exchange(is_reported_, false)) return;
  finished_ = before_ + reported_;
  PhaseBoundary boundary;
  boundary.ends_loop = true;
  on_boundary_(boundary);
}

void MpiLoopFinder::finish() { end_main(); }

std::uint64_t MpiLoopFinder::num_iterations() const { return is_reported_ ? before_ + reported_ : finished_; }

}  // namespace terrace::runtime
