// SPDX-License-Identifier: Apache-2.0
// Updates the tree of a thread's calls and loops with each event of the hooks, for the loop finder. See
// loop_tree.hpp.
#include "observe/loops/loop_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_min_samples = 16;   // visits or iterations, before a node may be pruned
constexpr std::size_t k_max_nodes = 1 << 16;  // further calls and loops are not followed
constexpr std::uint32_t k_min_regions = 16;   // fewer are too few to compare iterations by

// A loop that tests its condition at the head passes the head once more at the end: less than 1/50 of the last
// iteration's work is no iteration.
constexpr Work k_min_iteration_divisor = 50;

constexpr double k_min_work_ratio = 0.5;  // of the smaller of two iterations' work to the larger

constexpr std::uint64_t k_min_half_iterations = 8;  // the first halves that are compared

std::optional<double> miss_overlap(std::uint32_t repeated, std::uint32_t larger) {
  if (larger < k_min_regions) return {};
  return static_cast<double>(repeated) / larger;
}

bool resemble(Work one, Work other, std::optional<double> overlap) {
  return static_cast<double>(std::min(one, other)) >=
             k_min_work_ratio * static_cast<double>(std::max(one, other)) &&
         overlap.value_or(1) >= LoopTree::k_min_miss_overlap;
}

}  // namespace

LoopTree::LoopTree(const LoopCode& code, Listener& listener) : code_(code), listener_(listener) {
  active_.push_back({.node = k_root, .depth = 0});
}

std::size_t LoopTree::slot_of(std::uint64_t key) {
  return (key * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(k_cache_slots));
}

LoopCode::Mark LoopTree::mark_of(std::uint64_t site) {
  auto& known = marks_[slot_of(site)];
  if (known.site != site) known = {site, code_.mark(site)};
  return known.mark;
}

LoopCode::Place LoopTree::place_of(std::uint64_t site) {
  auto& known = places_[slot_of(site)];
  if (known.site != site) known = {site, code_.place(site)};
  return known.place;
}

const LoopCode::Loop& LoopTree::loop_of(LoopId id) {
  auto& known = loops_[id % k_cache_slots];
  if (known.id != id) known = {id, code_.loop(id)};
  return known.loop;
}

bool LoopTree::is_loop_at(std::uint32_t depth) const {
  return active_.back().loop != 0 && active_.back().depth == depth;
}

void LoopTree::advance(Work now) { now_ = std::max(now_, now + unobserved_work_); }

void LoopTree::set_unobserved(Index node) {
  unobserved_ = node;
  for (auto& active : active_) {
    if (active.is_between_iterations) continue;  // the next iteration begins with this state
    active.is_iteration_unobserved = node != k_root && (active.is_iteration_unobserved || active.node == node);
  }
  if (node == k_root) resume_observation();
}

// Counts visits that began unobserved and go on from here.
void LoopTree::resume_observation() {
  for (auto& active : active_) {
    if (!std::exchange(active.is_unobserved, false)) continue;
    active.visit_begin = active.iteration_begin = now_;
    if (active.has_node) ++nodes_[active.node].visits;
  }
}

void LoopTree::enter(std::uint64_t function, std::uint64_t call_site, std::uint32_t depth, Work now) {
  advance(now);
  pop_deeper(depth - 1);
  const auto place = place_of(call_site);
  if (is_loop_at(depth - 1)) {
    // Outlined code, and code that is not the function's own, is in none of its described loops.
    if (place.function == active_.back().function) pop_loops_without(place.loop, depth - 1);
    if (active_.back().is_pruned) return;
  }
  if (place.loop != 0 && active_.back().depth == depth - 1 &&
      (active_.back().loop == 0 || place.function == active_.back().function))
    enter_loop(place.loop, depth - 1);
  if (active_.back().loop != 0 && active_.back().is_pruned) return;
  push(0, function, depth);
}

void LoopTree::leave(std::uint32_t depth, Work now) {
  advance(now);
  pop_deeper(depth);
}

void LoopTree::sample(std::uint64_t site, std::uint32_t depth, Work now) {
  if (now + unobserved_work_ >= notify_at_) [[unlikely]] {
    advance(now);
    notify_at_ = k_never;
    listener_.on_work_reached();
  }
  if (depth > followed_depth_) return;
  const auto place = place_of(site);
  if (place.function == 0) return;
  const auto& top = active_.back();
  if (is_loop_at(depth) && top.function == place.function && top.loop == place.loop && !top.is_between_iterations)
    return;
  advance(now);
  pop_deeper(depth);
  // Outlined code is not described.
  if (is_loop_at(depth) && active_.back().function != place.function) return;
  pop_loops_without(place.loop, depth);
  is_sampled_ = true;
  if (place.loop != 0) enter_loop(place.loop, depth);
  is_sampled_ = false;
}

void LoopTree::enter_loop(LoopId loop, std::uint32_t depth) {
  if (is_loop_at(depth) && active_.back().loop == loop) resume_iteration();
  if (is_loop_at(depth) && (active_.back().is_pruned || active_.back().loop == loop)) return;
  enter_outer_loop(loop, depth);
  if (!active_.back().is_pruned) push(loop, loop_of(loop).head, depth);
}

bool LoopTree::affects(std::uint64_t site, std::uint32_t depth) {
  const auto mark = mark_of(site);
  if (mark.iterates == 0 && mark.enters == 0) return false;
  const auto& top = active_.back();
  if (!top.is_pruned || !is_loop_at(depth)) return true;
  const auto contains = [&](LoopId loop) { return loop == 0 || (loop >= top.loop && loop <= top.last); };
  if (mark.enters == top.loop || !contains(mark.iterates) || !contains(mark.enters)) return true;
  if (mark.iterates == top.loop && top.has_node && !is_unobserved()) ++nodes_[top.node].iterations;
  return false;
}

void LoopTree::block(std::uint64_t site, std::uint32_t depth, Work now) {
  if (!affects(site, depth)) return;
  const auto mark = mark_of(site);
  advance(now);
  pop_deeper(depth);
  if (mark.iterates != 0) on_mark(mark, depth);
  if (mark.enters == 0) return;
  pop_loops_without(mark.enters, depth);
  if (is_loop_at(depth)) {
    if (active_.back().is_pruned && active_.back().loop != mark.enters) return;
    if (active_.back().loop == mark.enters) pop();  // it is entered again
  }
  enter_outer_loop(mark.enters, depth);
  if (!active_.back().is_pruned) push(mark.enters, loop_of(mark.enters).head, depth);
}

void LoopTree::resume_iteration() {
  auto& active = active_.back();
  if (!std::exchange(active.is_between_iterations, false)) return;
  begin_iteration(active);
  listener_.on_iteration(active.node);
}

// Handles a hook that reports an iteration of a loop, at its begin or at its end.
void LoopTree::on_mark(const LoopCode::Mark& mark, std::uint32_t depth) {
  const auto loop = mark.iterates;
  pop_loops_without(loop, depth);
  if (is_loop_at(depth)) {
    auto& active = active_.back();
    if (active.is_pruned) return;  // an inner loop of a pruned one
    if (active.loop == loop) {
      if (mark.at_end) resume_iteration();  // no event showed that this iteration began
      if (!std::exchange(active_.back().passed_mark, true) && !mark.at_end && !is_whole_iteration(active_.back()))
        return;
      if (!active_.back().is_between_iterations) end_iteration(active_.back());
      active_.back().is_between_iterations = true;
      if (!mark.at_end)
        resume_iteration();
      else if (is_unobserved())
        listener_.on_unobserved_iteration_end(active_.back().node);
      return;
    }
  }
  enter_outer_loop(loop, depth);
  if (active_.back().is_pruned) return;
  push(loop, loop_of(loop).head, depth);
  auto& active = active_.back();
  active.passed_mark = true;
  active.is_between_iterations = mark.at_end;
  if (!mark.at_end || !active.has_node) return;
  if (is_unobserved())
    listener_.on_unobserved_iteration_end(active.node);
  else
    ++nodes_[active.node].iterations;  // its begin was not reported
}

void LoopTree::enter_outer_loop(LoopId loop, std::uint32_t depth) {
  if (const auto around = loop_of(loop).around; around != 0) enter_loop(around, depth);
}

void LoopTree::pop_deeper(std::uint32_t depth) {
  while (active_.back().depth > depth) pop();
}

void LoopTree::pop_loops_without(LoopId inside, std::uint32_t depth) {
  while (is_loop_at(depth) && (inside < active_.back().loop || inside > active_.back().last)) pop();
}

bool LoopTree::is_recursion(std::uint64_t function) const {
  return std::ranges::any_of(active_, [&](const Active& one) {
    return one.loop == 0 && one.node != k_root && nodes_[one.node].code == function;
  });
}

// Returns the node of a call or loop in its parent; the parent itself where the tree is full.
LoopTree::Index LoopTree::child(Index around, LoopId loop, std::uint64_t code) {
  const auto is_it = [&](Index index) {
    const auto& node = nodes_[index];
    return node.around == around && node.code == code && node.loop == loop && index != k_root;
  };
  auto& known = known_children_[slot_of(code * 31 + around)];
  if (is_it(known)) return known;
  auto& candidates = children_[code * 31 + around];
  for (const auto index : candidates)
    if (is_it(index)) return known = index;
  if (nodes_.size() >= k_max_nodes) return around;
  candidates.push_back(static_cast<Index>(nodes_.size()));
  nodes_.push_back({.is_loop = loop != 0, .code = code, .loop = loop, .around = around});
  nodes_.back().first_entry_work = now_;
  return known = candidates.back();
}

// Begins a visit of a loop, or of a call if `loop` is 0.
void LoopTree::push(LoopId loop, std::uint64_t code, std::uint32_t depth) {
  if (active_.back().loop != 0) resume_iteration();
  active_.back().is_iteration_empty = false;
  const auto around = active_.back().node;
  const auto iteration_id = active_.back().iteration_id;
  const auto iteration_begin = active_.back().iteration_begin;
  const auto index = child(around, loop, code);
  auto& node = nodes_[index];
  node.is_reported = node.is_reported || !is_sampled_;
  const bool is_pruned = node.is_pruned || index == around || (loop == 0 && is_recursion(code));
  auto& active = active_.emplace_back();
  active.node = index;
  active.depth = depth;
  active.loop = loop;
  active.visit_begin = now_;
  if (loop != 0) {
    const auto& known = loop_of(loop);
    active.last = known.last;
    active.function = known.function;
  }
  active.has_node = index != around;
  active.is_pruned = is_pruned;
  active.is_unobserved = is_unobserved();
  if (active.has_node && !active.is_unobserved) {
    ++node.visits;
    if (node.entered_in != iteration_id || node.visits == 1) node.entry_offset = now_ - iteration_begin;
    node.entered_in = iteration_id;
  }
  begin_iteration(active);
  active.previous_iteration_id = 0;
  active.visit_id = active.iteration_id;
  set_followed_depth();
  if (index != around) listener_.on_enter(index);
}

// Ends the innermost visit, and the iteration that it ends.
void LoopTree::pop() {
  auto& active = active_.back();
  const auto index = active.node;
  const bool has_node = active.has_node;
  if (has_node) {
    auto& node = nodes_[index];
    // A loop that tests at its head begins one iteration too many, in which nothing is done.
    const bool is_whole =
        active.is_iteration_unobserved
            ? !active.is_iteration_empty
            : (now_ - active.iteration_begin) * k_min_iteration_divisor >= node.last_iteration_work;
    if (node.is_loop && !active.is_pruned && !active.is_between_iterations && is_whole) end_iteration(active);
    if (!active.is_unobserved) {
      node.work += now_ - active.visit_begin;
      update_pruned(node);
    }
  }
  active_.pop_back();
  set_followed_depth();
  if (has_node) listener_.on_exit(index);
}

// Returns whether the work since the iteration began is that of a whole one. A loop that is entered between its
// head and the hook that reports iterations passes that hook for the first time within its first iteration.
bool LoopTree::is_whole_iteration(const Active& active) const {
  const auto work = now_ - active.iteration_begin;
  const auto last = nodes_[active.node].last_iteration_work;
  return last == 0 ? work >= k_min_visit_work : work * k_min_iteration_divisor >= last;
}

void LoopTree::begin_iteration(Active& active) {
  // An iteration after unobserved ones is compared with the last observed one.
  if (!active.is_iteration_unobserved) {
    active.previous_iteration_id = active.iteration_id;
    active.previous_regions = active.regions;
  }
  active.iteration_id = ++num_iterations_;
  active.iteration_begin = now_;
  active.regions = active.repeated_regions = 0;
  active.is_iteration_unobserved = is_unobserved();
  active.is_iteration_empty = true;
}

// Records an iteration: its work, and whether it resembles the one before.
void LoopTree::end_iteration(Active& active) {
  auto& node = nodes_[active.node];
  if (active.is_iteration_unobserved) {
    if (active.node != unobserved_) return;
    ++node.iterations;
    ++node.unobserved;
    // Subtract the work that was observed in it.
    const auto observed = now_ - active.iteration_begin;
    node.max_hook_work = std::max(node.max_hook_work, observed);
    const auto estimated = node.last_iteration_work - std::min(node.last_iteration_work, observed);
    unobserved_work_ += estimated;
    now_ += estimated;
    return;
  }
  const auto work = now_ - active.iteration_begin;
  ++node.iterations;
  if (active.previous_iteration_id != 0) {
    node.miss_overlap = miss_overlap(active.repeated_regions, std::max(active.regions, active.previous_regions));
    node.num_similar = resemble(work, node.last_iteration_work, node.miss_overlap) ? node.num_similar + 1 : 0;
  }
  node.last_iteration_work = work;
  ++active.iterations;
  if (active.iterations >= k_min_half_iterations && std::has_single_bit(active.iterations)) compare_halves(active);
}

void LoopTree::compare_halves(Active& active) {
  if (active.half_id != 0) {
    const auto regions_new = active.visit_regions - active.first_half_regions;
    const auto overlap = miss_overlap(active.second_half_regions - regions_new,
                                      std::max(active.second_half_regions, active.first_half_regions));
    nodes_[active.node].is_steady =
        resemble(now_ - active.half_begin, active.half_begin - active.visit_begin, overlap);
  }
  active.half_id = num_iterations_ + 1;  // the next iteration
  active.half_begin = now_;
  active.second_half_regions = 0;
  active.first_half_regions = active.visit_regions;
}

// Prunes a node whose visits or iterations have little work; undoes that only when they have much more.
void LoopTree::update_pruned(Node& node) const {
  const bool has_short_iterations =
      node.is_loop && node.iterations >= k_min_samples && node.work < node.iterations * k_min_iteration_work;
  const bool has_short_visits = node.visits >= k_min_samples && node.work < node.visits * k_min_visit_work;
  if (node.is_pruned)
    node.is_pruned = node.work < 4 * node.visits * k_min_visit_work || (node.is_loop && has_short_iterations);
  else
    node.is_pruned = has_short_visits || has_short_iterations;
}

// The tree follows a pruned call again when it returns.
void LoopTree::set_followed_depth() {
  const auto& top = active_.back();
  followed_depth_ = top.is_pruned && top.loop == 0 ? top.depth - 1 : k_every_depth;
}

void LoopTree::record_miss(std::uint64_t region) {
  if (region == last_region_ && last_region_id_ == num_iterations_) return;
  last_region_ = region;
  last_region_id_ = num_iterations_;
  auto& at = last_miss_[region];
  for (auto active = active_.rbegin(); active != active_.rend() && at < active->iteration_id; ++active) {
    ++active->regions;
    if (active->previous_iteration_id != 0 && at >= active->previous_iteration_id) ++active->repeated_regions;
    if (at < active->half_id) ++active->second_half_regions;
    if (at < active->visit_id) ++active->visit_regions;
  }
  at = num_iterations_;
}

}  // namespace terrace::observe
