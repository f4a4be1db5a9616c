#include "runtime/regions/region_phases.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace terrace::runtime {

namespace {

using Word = std::vector<std::uint32_t>;

// Whether `part` is in the turns of a loop that does `whole` again and again.
bool is_within(const Word& part, const Word& whole) {
  if (part.size() > whole.size()) return false;
  Word around = whole;
  around.insert(around.end(), whole.begin(), whole.end());
  return std::search(around.begin(), around.end(), part.begin(), part.end()) != around.end();
}

}  // namespace

RegionPhases::RegionPhases(Now now, Pass pass, Seconds least)
    : now_(std::move(now)), pass_(std::move(pass)), least_(least), paths_(1), open_(1) {}

RegionPhases::Name RegionPhases::name(const char* kind, std::string_view text) {
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

RegionPhases::Index RegionPhases::part(Index of, Name name) {
  const auto found = paths_[of].parts.find(name);
  if (found != paths_[of].parts.end()) return found->second;
  if (name == k_no_name || paths_.size() >= k_max_paths) return k_ignored;
  const auto index = static_cast<Index>(paths_.size());
  paths_.emplace_back();
  paths_.back().parent = of;
  paths_.back().name = name;
  paths_[of].parts.emplace(name, index);
  return index;
}

bool RegionPhases::counts(Index path) const {
  const auto& one = paths_[path];
  return one.visits > 0 && one.total.value >= least_.value * static_cast<double>(one.visits);
}

void RegionPhases::begin(std::uint64_t key, Name name) {
  const auto index =
      not_looked_at_.empty() && depth_ <= k_deepest ? part(open_[depth_ - 1].path, name) : k_ignored;
  if (index == k_ignored || paths_[index].is_short) {
    not_looked_at_.push_back(key);
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
  const auto ignored = std::find(not_looked_at_.rbegin(), not_looked_at_.rend(), key);
  if (ignored != not_looked_at_.rend()) {
    not_looked_at_.erase(std::next(ignored).base(), not_looked_at_.end());
    return;
  }
  auto depth = depth_ - 1;
  while (depth > 0 && open_[depth].key != key) --depth;
  if (depth == 0) return;  // it began before anybody listened, or what it was in has ended
  not_looked_at_.clear();
  while (depth_ > depth) close_innermost();
}

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
  if (has_loop_ && loop_depth_ == depth_) give_up();
  if (counts(index)) ended_in(depth_ - 1, index);
}

// Every square is taken away as it comes, so there is one at most, at the end, and the shortest is it.
void RegionPhases::ended_in(std::size_t depth, Index path) {
  auto& sequence = open_[depth].sequence;
  sequence.push_back(path);
  for (std::size_t length = 1; 2 * length <= sequence.size(); ++length) {
    const auto second = sequence.end() - static_cast<std::ptrdiff_t>(length);
    if (!std::equal(second, sequence.end(), second - static_cast<std::ptrdiff_t>(length))) continue;
    Word word(second, sequence.end());
    sequence.erase(second, sequence.end());
    turned(depth, std::move(word));
    return;
  }
  if (sequence.size() > k_longest)
    sequence.erase(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(k_longest / 2));
}

// Whether the word, in the visit at that depth, is done in the turns of the main loop.
bool RegionPhases::is_part_of_loop(std::size_t depth, const Word& word) const {
  if (depth < loop_depth_) return false;
  if (depth == loop_depth_) return is_within(word, word_);
  return std::find(word_.begin(), word_.end(), open_[loop_depth_ + 1].path) != word_.end();
}

void RegionPhases::turned(std::size_t depth, Word word) {
  const auto of = open_[depth].path;
  keep_square(of, word);
  if (!has_loop_ || !is_part_of_loop(depth, word)) return take(depth, std::move(word));
  // An inner loop that turned once until now.
  if (depth == loop_depth_ && word.size() < word_.size()) mark_repeated(of, &word_);
  if (depth > loop_depth_) mark_repeated(of, nullptr);
}

void RegionPhases::keep_square(Index of, const Word& word) {
  constexpr std::size_t k_max = 64;
  auto& squares = paths_[of].squares;
  if (squares.size() < k_max && std::find(squares.begin(), squares.end(), word) == squares.end())
    squares.push_back(word);
}

// In which inner loop each part of the path is: of all its squares, or of those within `whole`, the longest.
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
  for (const auto& [name, index] : paths_[of].parts) mark_repeated_below(index);
}

void RegionPhases::give_up() {
  has_loop_ = false;
  if (!std::exchange(loop_begun_, false)) return;
  Boundary boundary;
  boundary.ends_loop = true;
  pass_(boundary);
}

void RegionPhases::take(std::size_t depth, Word word) {
  if (has_loop_) give_up();
  loop_depth_ = depth;
  word_ = std::move(word);
  mark_repeated(open_[depth].path, &word_);
  head_ = choose_head();
  if (head_ == k_root) return;
  has_loop_ = true;
  ++loop_;
  Seconds turns;
  const std::set<Index> members(word_.begin(), word_.end());
  for (const auto index : members) turns += paths_[index].total;
  for (const auto index : members) mark_repeated_below(index);
  for (const auto index : members) mark_phases(index, turns);
}

// Null: the root, which is in no word.
RegionPhases::Index RegionPhases::choose_head() const {
  auto head = k_root;
  for (const auto index : word_) {
    if (std::count(word_.begin(), word_.end(), index) != 1) continue;
    if (paths_[index].repeated_in == k_not_repeated) return index;
    if (head == k_root) head = index;
  }
  return head;
}

bool RegionPhases::is_looked_into(Index path, Seconds turns) const {
  const auto& one = paths_[path];
  if (one.repeated_in != k_not_repeated || one.total.value * 4 < turns.value) return false;
  Seconds in_parts;
  std::size_t count = 0;
  bool goes_on = false;
  for (const auto& [name, index] : one.parts) {
    if (!counts(index)) continue;
    in_parts += paths_[index].total;
    ++count;
    goes_on = goes_on || is_looked_into(index, turns);
  }
  return in_parts.value * 4 >= one.total.value && (count > 1 || goes_on);
}

void RegionPhases::mark_phases(Index path, Seconds turns) {
  paths_[path].loop = loop_;
  if (!is_looked_into(path, turns)) return;
  for (const auto& [name, index] : paths_[path].parts)
    if (counts(index)) mark_phases(index, turns);
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

void RegionPhases::begin_phase(Index index) {
  const auto& path = paths_[index];
  const bool repeats = path.repeated_in != k_not_repeated;
  const bool goes_on = repeats && repeating_ == path.repeated_in && repeating_in_ == path.parent;
  Boundary boundary;
  if (!loop_begun_) {
    if (index != head_) return;
    loop_begun_ = true;
    boundary.begins_loop = loop_name();
    boundary.why = "its regions came in this order twice (" + kinds() + ")";
    boundary.turns_before = 2;
  } else if (goes_on) {
    return;
  }
  repeating_ = path.repeated_in;
  repeating_in_ = path.parent;
  if (index == head_) used_.clear();
  boundary.phase = names_[path.name].text;
  const auto count = ++used_[boundary.phase];
  if (count > 1) boundary.phase += " (" + std::to_string(count) + ")";
  pass_(boundary);
}

}  // namespace terrace::runtime
