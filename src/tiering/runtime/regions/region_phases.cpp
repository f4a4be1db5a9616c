// SPDX-License-Identifier: Apache-2.0
// Derives the main loop and phases from annotated regions: detects repeated words (in the sense of combinatorics
// on words) in the sequences of regions. Fed by the agent's region adapters. See region_phases.hpp.
#include "runtime/regions/region_phases.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace terrace::runtime {

namespace {

using Word = std::vector<std::uint32_t>;

// Returns whether `part` occurs in the iterations of a loop that repeats `whole`.
bool is_within(const Word& part, const Word& whole) {
  if (part.size() > whole.size()) return false;
  Word around = whole;
  around.insert(around.end(), whole.begin(), whole.end());
  return std::search(around.begin(), around.end(), part.begin(), part.end()) != around.end();
}

}  // namespace

RegionPhases::RegionPhases(Now now, BoundaryCallback on_boundary, Seconds least)
    : now_(std::move(now)), on_boundary_(std::move(on_boundary)), least_(least), paths_(1), open_(1) {}

RegionPhases::Name RegionPhases::intern_name(const char* kind, std::string_view text) {
  std::string key = kind;
  key.append(1, '\0').append(text);
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  if (names_.size() >= k_max_paths) return k_no_name;
  const auto number = static_cast<Name>(names_.size());
  names_.push_back({kind, std::string(text)});
  numbers_.emplace(std::move(key), number);
  return number;
}

// Returns the path of a region of that name within a path, which it adds if it is new.
RegionPhases::Index RegionPhases::child_path(Index of, Name name) {
  const auto found = paths_[of].children.find(name);
  if (found != paths_[of].children.end()) return found->second;
  if (name == k_no_name || paths_.size() >= k_max_paths) return k_ignored;
  const auto index = static_cast<Index>(paths_.size());
  paths_.emplace_back();
  paths_.back().parent = of;
  paths_.back().name = name;
  paths_[of].children.emplace(name, index);
  return index;
}

bool RegionPhases::is_long_enough(Index path) const {
  const auto& one = paths_[path];
  return one.visits > 0 && one.total.value >= least_.value * static_cast<double>(one.visits);
}

void RegionPhases::begin(std::uint64_t key, Name name) {
  const auto index =
      ignored_keys_.empty() && depth_ <= k_max_depth ? child_path(open_[depth_ - 1].path, name) : k_ignored;
  if (index == k_ignored || paths_[index].is_short) {
    ignored_keys_.push_back(key);
    return;
  }
  if (open_.size() == depth_) open_.emplace_back();
  auto& visit = open_[depth_++];
  visit.path = index;
  visit.key = key;
  visit.sequence.clear();
  if (has_loop_ && paths_[index].loop == loop_) begin_phase(index);
  visit.begun = now_();
}

void RegionPhases::end(std::uint64_t key) {
  const auto ignored = std::find(ignored_keys_.rbegin(), ignored_keys_.rend(), key);
  if (ignored != ignored_keys_.rend()) {
    ignored_keys_.erase(std::next(ignored).base(), ignored_keys_.end());
    return;
  }
  auto depth = depth_ - 1;
  while (depth > 0 && open_[depth].key != key) --depth;
  if (depth == 0) return;  // it began before this object existed, or its enclosing region has ended
  ignored_keys_.clear();
  while (depth_ > depth) close_innermost();
}

// Ends the innermost open region, and appends it to its parent's sequence.
void RegionPhases::close_innermost() {
  const auto& visit = open_[depth_ - 1];
  const auto index = visit.path;
  auto& path = paths_[index];
  ++path.visits;
  path.total += now_() - visit.begun;
  path.is_short = path.visits >= k_visits_to_judge &&
                  path.total.value * 2 < least_.value * static_cast<double>(path.visits) &&
                  !(has_loop_ && path.loop == loop_);
  --depth_;
  if (has_loop_ && loop_depth_ == depth_) end_loop();
  if (is_long_enough(index)) append_to_sequence(depth_ - 1, index);
}

// Each square is removed when it appears, so there is at most one, at the end, and the shortest match is it.
void RegionPhases::append_to_sequence(std::size_t depth, Index path) {
  auto& sequence = open_[depth].sequence;
  sequence.push_back(path);
  for (std::size_t length = 1; 2 * length <= sequence.size(); ++length) {
    const auto second = sequence.end() - static_cast<std::ptrdiff_t>(length);
    if (!std::equal(second, sequence.end(), second - static_cast<std::ptrdiff_t>(length))) continue;
    Word word(second, sequence.end());
    sequence.erase(second, sequence.end());
    on_repetition(depth, std::move(word));
    return;
  }
  if (sequence.size() > k_max_sequence)
    sequence.erase(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(k_max_sequence / 2));
}

// Returns whether the word, in the visit at that depth, is executed within iterations of the main loop.
bool RegionPhases::is_part_of_loop(std::size_t depth, const Word& word) const {
  if (depth < loop_depth_) return false;
  if (depth == loop_depth_) return is_within(word, word_);
  return std::find(word_.begin(), word_.end(), open_[loop_depth_ + 1].path) != word_.end();
}

// Decides what a repetition in the visit at that depth means: a new main loop, or an inner loop of it.
void RegionPhases::on_repetition(std::size_t depth, Word word) {
  const auto of = open_[depth].path;
  add_square(of, word);
  if (!has_loop_ || !is_part_of_loop(depth, word)) return select_loop(depth, std::move(word));
  // An inner loop that iterated once per visit until now.
  if (depth == loop_depth_ && word.size() < word_.size()) mark_repeated(of, &word_);
  if (depth > loop_depth_) mark_repeated(of, nullptr);
}

// Remembers a word that occurred twice in succession.
void RegionPhases::add_square(Index of, const Word& word) {
  constexpr std::size_t k_max = 64;
  auto& squares = paths_[of].squares;
  if (squares.size() < k_max && std::find(squares.begin(), squares.end(), word) == squares.end())
    squares.push_back(word);
}

// Sets which inner loop each child of the path is in: of all squares of the path, or of those within `whole`, the
// longest one.
void RegionPhases::mark_repeated(Index of, const Word* whole) {
  const auto& squares = paths_[of].squares;
  for (const auto& square : squares)
    for (const auto index : square) paths_[index].repeated_in = k_not_repeated;
  for (std::uint32_t i = 0; i < squares.size(); ++i) {
    if (whole && (squares[i].size() >= whole->size() || !is_within(squares[i], *whole))) continue;
    for (const auto index : squares[i]) {
      auto& best = paths_[index].repeated_in;
      if (best == k_not_repeated || squares[best].size() < squares[i].size()) best = i;
    }
  }
}

void RegionPhases::mark_repeated_below(Index of) {
  mark_repeated(of, nullptr);
  for (const auto& [name, index] : paths_[of].children) mark_repeated_below(index);
}

void RegionPhases::end_loop() {
  has_loop_ = false;
  if (!std::exchange(loop_begun_, false)) return;
  PhaseBoundary boundary;
  boundary.ends_loop = true;
  on_boundary_(boundary);
}

// Makes the word the main loop, whose iterations begin with the next visit of its head.
void RegionPhases::select_loop(std::size_t depth, Word word) {
  if (has_loop_) end_loop();
  loop_depth_ = depth;
  word_ = std::move(word);
  mark_repeated(open_[depth].path, &word_);
  head_ = choose_head();
  if (head_ == k_root) return;
  has_loop_ = true;
  ++loop_;
  Seconds iterations;
  const std::set<Index> members(word_.begin(), word_.end());
  for (const auto index : members) iterations += paths_[index].total;
  for (const auto index : members) mark_repeated_below(index);
  for (const auto index : members) mark_phases(index, iterations);
}

// Returns k_root, which is in no word, if no name begins an iteration unambiguously.
RegionPhases::Index RegionPhases::choose_head() const {
  auto head = k_root;
  for (const auto index : word_) {
    if (std::count(word_.begin(), word_.end(), index) != 1) continue;
    if (paths_[index].repeated_in == k_not_repeated) return index;
    if (head == k_root) head = index;
  }
  return head;
}

bool RegionPhases::is_split(Index path, Seconds iterations) const {
  const auto& one = paths_[path];
  if (one.repeated_in != k_not_repeated || one.total.value * 4 < iterations.value) return false;
  Seconds in_children;
  std::size_t count = 0;
  bool continues = false;
  for (const auto& [name, index] : one.children) {
    if (!is_long_enough(index)) continue;
    in_children += paths_[index].total;
    ++count;
    continues = continues || is_split(index, iterations);
  }
  return in_children.value * 4 >= one.total.value && (count > 1 || continues);
}

// Makes the path a phase of the main loop, or its children if it is split.
void RegionPhases::mark_phases(Index path, Seconds iterations) {
  paths_[path].loop = loop_;
  if (!is_split(path, iterations)) return;
  for (const auto& [name, index] : paths_[path].children)
    if (is_long_enough(index)) mark_phases(index, iterations);
}

std::string RegionPhases::loop_name() const {
  const auto of = open_[loop_depth_].path;
  if (word_.size() == 1) return names_[paths_[head_].name].text;
  return of == k_root ? "(regions)" : names_[paths_[of].name].text;
}

std::string RegionPhases::kinds() const {
  std::set<std::string_view> kinds;
  for (const auto& path : paths_)
    if (has_loop_ && path.loop == loop_) kinds.insert(names_[path.name].kind);
  std::string text;
  for (const auto kind : kinds) text.append(text.empty() ? "" : ", ").append(kind);
  return text;
}

// Reports a phase, unless the region continues an inner loop that is a phase already.
void RegionPhases::begin_phase(Index index) {
  const auto& path = paths_[index];
  const bool repeats = path.repeated_in != k_not_repeated;
  const bool continues = repeats && repeating_ == path.repeated_in && repeating_in_ == path.parent;
  PhaseBoundary boundary;
  if (!loop_begun_) {
    if (index != head_) return;
    loop_begun_ = true;
    boundary.begins_loop = loop_name();
    boundary.why = "its regions repeated in this order (" + kinds() + ")";
    boundary.iterations_before = 2;
  } else if (continues) {
    return;
  }
  repeating_ = path.repeated_in;
  repeating_in_ = path.parent;
  if (index == head_) used_.clear();
  boundary.phase = names_[path.name].text;
  const auto count = ++used_[boundary.phase];
  if (count > 1) boundary.phase += " (" + std::to_string(count) + ")";
  on_boundary_(boundary);
}

}  // namespace terrace::runtime
