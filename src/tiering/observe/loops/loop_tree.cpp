// See loop_tree.hpp.
#include "observe/loops/loop_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_tries = 16;         // visits or turns, before something is closed
constexpr std::size_t k_max_nodes = 1 << 16;  // what would be more is not followed
constexpr std::uint32_t k_few_regions = 16;   // too few to tell anything from

// A loop that tests at its head passes it once more at the end.
constexpr Work k_part_of_a_turn = 50;

constexpr double k_alike = 0.5;  // the smaller of two turns' work to the larger

constexpr std::uint64_t k_first_half = 8;  // turns: the first that are held against as many

std::optional<double> share_again(std::uint32_t again, std::uint32_t larger) {
  if (larger < k_few_regions) return {};
  return static_cast<double>(again) / larger;
}

bool resemble(Work one, Work other, std::optional<double> again) {
  return static_cast<double>(std::min(one, other)) >= k_alike * static_cast<double>(std::max(one, other)) &&
         again.value_or(1) >= LoopTree::k_again;
}

}  // namespace

LoopTree::LoopTree(const LoopCode& code, Listener& listener) : code_(code), listener_(listener) {
  active_.push_back({.node = k_root, .depth = 0});
}

std::size_t LoopTree::slot_of(std::uint64_t key) {
  return (key * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(k_known));
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
  auto& known = loops_[id % k_known];
  if (known.id != id) known = {id, code_.loop(id)};
  return known.loop;
}

bool LoopTree::is_loop_at(std::uint32_t depth) const {
  return active_.back().loop != 0 && active_.back().depth == depth;
}

void LoopTree::advance(Work now) { now_ = std::max(now_, now + work_unseen_); }

void LoopTree::set_unseen(Index node) {
  unseen_ = node;
  for (auto& active : active_) {
    if (active.is_between) continue;  // its turn has ended; the next one begins with this state
    active.is_turn_unseen = node != k_root && (active.is_turn_unseen || active.node == node);
  }
  if (node == k_root) see_visits();
}

// What began while nothing was seen and goes on counts from here.
void LoopTree::see_visits() {
  for (auto& active : active_) {
    if (!std::exchange(active.is_unseen, false)) continue;
    active.begun = active.turn_begun = now_;
    if (active.is_counted) ++nodes_[active.node].visits;
  }
}

void LoopTree::enter(std::uint64_t function, std::uint64_t call_site, std::uint32_t depth, Work now) {
  advance(now);
  pop_deeper(depth - 1);
  const auto place = place_of(call_site);
  if (is_loop_at(depth - 1)) {
    // Code that the compiler moved away, or that is not the function's own, says nothing of its loops.
    if (place.function == active_.back().function) pop_loops_around(place.loop, depth - 1);
    if (active_.back().is_closed) return;
  }
  if (place.loop != 0 && active_.back().depth == depth - 1 &&
      (active_.back().loop == 0 || place.function == active_.back().function))
    run(place.loop, depth - 1);
  if (active_.back().loop != 0 && active_.back().is_closed) return;
  push(0, function, depth);
}

void LoopTree::leave(std::uint32_t depth, Work now) {
  advance(now);
  pop_deeper(depth);
}

void LoopTree::sample(std::uint64_t site, std::uint32_t depth, Work now) {
  if (now + work_unseen_ >= tell_at_) [[unlikely]] {
    advance(now);
    tell_at_ = k_never;
    listener_.reached();
  }
  if (depth > followed_depth_) return;
  const auto place = place_of(site);
  if (place.function == 0) return;
  const auto& top = active_.back();
  if (is_loop_at(depth) && top.function == place.function && top.loop == place.loop && !top.is_between) return;
  advance(now);
  pop_deeper(depth);
  // Of code that the compiler moved away nothing is known.
  if (is_loop_at(depth) && active_.back().function != place.function) return;
  pop_loops_around(place.loop, depth);
  is_sampled_ = true;
  if (place.loop != 0) run(place.loop, depth);
  is_sampled_ = false;
}

void LoopTree::run(LoopId loop, std::uint32_t depth) {
  if (is_loop_at(depth) && active_.back().loop == loop) resume();
  if (is_loop_at(depth) && (active_.back().is_closed || active_.back().loop == loop)) return;
  run_around(loop, depth);
  if (!active_.back().is_closed) push(loop, loop_of(loop).head, depth);
}

bool LoopTree::concerns(std::uint64_t site, std::uint32_t depth) {
  const auto mark = mark_of(site);
  if (mark.turns == 0 && mark.enters == 0) return false;
  const auto& top = active_.back();
  if (!top.is_closed || !is_loop_at(depth)) return true;
  const auto holds = [&](LoopId loop) { return loop == 0 || (loop >= top.loop && loop <= top.last); };
  if (mark.enters == top.loop || !holds(mark.turns) || !holds(mark.enters)) return true;
  if (mark.turns == top.loop && top.is_counted && !is_unseen()) ++nodes_[top.node].turns;
  return false;
}

void LoopTree::block(std::uint64_t site, std::uint32_t depth, Work now) {
  if (!concerns(site, depth)) return;
  const auto mark = mark_of(site);
  advance(now);
  pop_deeper(depth);
  if (mark.turns != 0) turn(mark, depth);
  if (mark.enters == 0) return;
  pop_loops_around(mark.enters, depth);
  if (is_loop_at(depth)) {
    if (active_.back().is_closed && active_.back().loop != mark.enters) return;
    if (active_.back().loop == mark.enters) pop();  // it is entered again
  }
  run_around(mark.enters, depth);
  if (!active_.back().is_closed) push(mark.enters, loop_of(mark.enters).head, depth);
}

void LoopTree::resume() {
  auto& active = active_.back();
  if (!std::exchange(active.is_between, false)) return;
  begin_turn(active);
  listener_.turned(active.node);
}

void LoopTree::turn(const LoopCode::Mark& mark, std::uint32_t depth) {
  const auto loop = mark.turns;
  pop_loops_around(loop, depth);
  if (is_loop_at(depth)) {
    auto& active = active_.back();
    if (active.is_closed) return;  // in another loop of it
    if (active.loop == loop) {
      if (mark.at_end) resume();  // of a turn in which nothing was seen
      if (!std::exchange(active_.back().is_marked, true) && !mark.at_end && !is_turn(active_.back())) return;
      if (!active_.back().is_between) end_turn(active_.back());
      active_.back().is_between = true;
      if (!mark.at_end)
        resume();
      else if (is_unseen())
        listener_.ended_unseen(active_.back().node);
      return;
    }
  }
  run_around(loop, depth);
  if (active_.back().is_closed) return;
  push(loop, loop_of(loop).head, depth);
  auto& active = active_.back();
  active.is_marked = true;
  active.is_between = mark.at_end;
  if (!mark.at_end || !active.is_counted) return;
  if (is_unseen())
    listener_.ended_unseen(active.node);
  else
    ++nodes_[active.node].turns;  // nothing told of its beginning
}

void LoopTree::run_around(LoopId loop, std::uint32_t depth) {
  if (const auto around = loop_of(loop).around; around != 0) run(around, depth);
}

void LoopTree::pop_deeper(std::uint32_t depth) {
  while (active_.back().depth > depth) pop();
}

void LoopTree::pop_loops_around(LoopId inside, std::uint32_t depth) {
  while (is_loop_at(depth) && (inside < active_.back().loop || inside > active_.back().last)) pop();
}

bool LoopTree::is_recursion(std::uint64_t function) const {
  return std::ranges::any_of(active_, [&](const Active& one) {
    return one.loop == 0 && one.node != k_root && nodes_[one.node].code == function;
  });
}

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
  nodes_.back().first_at = now_;
  return known = candidates.back();
}

void LoopTree::push(LoopId loop, std::uint64_t code, std::uint32_t depth) {
  if (active_.back().loop != 0) resume();
  active_.back().is_turn_empty = false;
  const auto around = active_.back().node;
  const auto turn_at = active_.back().turn_at;
  const auto turn_begun = active_.back().turn_begun;
  const auto index = child(around, loop, code);
  auto& node = nodes_[index];
  node.is_told = node.is_told || !is_sampled_;
  const bool closed = node.is_closed || index == around || (loop == 0 && is_recursion(code));
  auto& active = active_.emplace_back();
  active.node = index;
  active.depth = depth;
  active.loop = loop;
  active.begun = now_;
  if (loop != 0) {
    const auto& known = loop_of(loop);
    active.last = known.last;
    active.function = known.function;
  }
  active.is_counted = index != around;
  active.is_closed = closed;
  active.is_unseen = is_unseen();
  if (active.is_counted && !active.is_unseen) {
    ++node.visits;
    if (node.begun_in != turn_at || node.visits == 1) node.begins_at = now_ - turn_begun;
    node.begun_in = turn_at;
  }
  begin_turn(active);
  active.turn_before = 0;
  active.begun_at = active.turn_at;
  set_followed_depth();
  if (index != around) listener_.entered(index);
}

void LoopTree::pop() {
  auto& active = active_.back();
  const auto index = active.node;
  const bool is_counted = active.is_counted;
  if (is_counted) {
    auto& node = nodes_[index];
    // A loop that tests at its head begins a turn more than it has: nothing is done in it.
    const bool turned_enough =
        active.is_turn_unseen ? !active.is_turn_empty : (now_ - active.turn_begun) * k_part_of_a_turn >= node.turn;
    if (node.is_loop && !active.is_closed && !active.is_between && turned_enough) end_turn(active);
    if (!active.is_unseen) {
      node.work += now_ - active.begun;
      decide_closed(node);
    }
  }
  active_.pop_back();
  set_followed_depth();
  if (is_counted) listener_.left(index);
}

// Whether what was done since the turn began is one. A loop that is entered between its head and the hook that
// tells of turns passes that hook for the first time within its first turn.
bool LoopTree::is_turn(const Active& active) const {
  const auto work = now_ - active.turn_begun;
  const auto turn = nodes_[active.node].turn;
  return turn == 0 ? work >= k_little : work * k_part_of_a_turn >= turn;
}

void LoopTree::begin_turn(Active& active) {
  // What comes after turns that were not seen is held against the last one that was.
  if (!active.is_turn_unseen) {
    active.turn_before = active.turn_at;
    active.regions_before = active.regions;
  }
  active.turn_at = ++beginnings_;
  active.turn_begun = now_;
  active.regions = active.regions_again = 0;
  active.is_turn_unseen = is_unseen();
  active.is_turn_empty = true;
}

void LoopTree::end_turn(Active& active) {
  auto& node = nodes_[active.node];
  if (active.is_turn_unseen) {
    if (active.node != unseen_) return;
    ++node.turns;
    ++node.unseen;
    // Less what was seen of it all the same.
    const auto seen = now_ - active.turn_begun;
    node.counted = std::max(node.counted, seen);
    const auto unseen = node.turn - std::min(node.turn, seen);
    work_unseen_ += unseen;
    now_ += unseen;
    return;
  }
  const auto work = now_ - active.turn_begun;
  ++node.turns;
  if (active.turn_before != 0) {
    node.again = share_again(active.regions_again, std::max(active.regions, active.regions_before));
    node.alike = resemble(work, node.turn, node.again) ? node.alike + 1 : 0;
  }
  node.turn = work;
  ++active.turns;
  if (active.turns >= k_first_half && std::has_single_bit(active.turns)) compare_halves(active);
}

void LoopTree::compare_halves(Active& active) {
  if (active.half_at != 0) {
    const auto regions_new = active.regions_of_visit - active.regions_first_half;
    const auto again = share_again(active.regions_of_half - regions_new,
                                   std::max(active.regions_of_half, active.regions_first_half));
    nodes_[active.node].is_steady = resemble(now_ - active.half_begun, active.half_begun - active.begun, again);
  }
  active.half_at = beginnings_ + 1;  // of the turn that begins next
  active.half_begun = now_;
  active.regions_of_half = 0;
  active.regions_first_half = active.regions_of_visit;
}

void LoopTree::decide_closed(Node& node) const {
  const bool little_turns = node.is_loop && node.turns >= k_tries && node.work < node.turns * k_little_turn;
  const bool little_visits = node.visits >= k_tries && node.work < node.visits * k_little;
  if (node.is_closed)
    node.is_closed = node.work < 4 * node.visits * k_little || (node.is_loop && little_turns);
  else
    node.is_closed = little_visits || little_turns;
}

// A closed call is heard of again when it returns.
void LoopTree::set_followed_depth() {
  const auto& top = active_.back();
  followed_depth_ = top.is_closed && top.loop == 0 ? top.depth - 1 : k_every_depth;
}

void LoopTree::missed(std::uint64_t region) {
  if (region == last_region_ && last_missed_at_ == beginnings_) return;
  last_region_ = region;
  last_missed_at_ = beginnings_;
  auto& at = missed_at_[region];
  for (auto active = active_.rbegin(); active != active_.rend() && at < active->turn_at; ++active) {
    ++active->regions;
    if (active->turn_before != 0 && at >= active->turn_before) ++active->regions_again;
    if (at < active->half_at) ++active->regions_of_half;
    if (at < active->begun_at) ++active->regions_of_visit;
  }
  at = beginnings_;
}

}  // namespace terrace::observe
