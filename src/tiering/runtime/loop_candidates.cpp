// SPDX-License-Identifier: Apache-2.0
// Ranks the loops that could have been the main loop, by name, for the profile (`terrace show` lists them). Called
// by LoopFinder at the end of the run. See loop_candidates.hpp.
#include "runtime/loop_candidates.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace terrace::runtime {

namespace {

using Tree = observe::LoopTree;
using profile::LoopCandidate;

constexpr double k_min_share = 0.05;
constexpr double k_min_share_of_node = k_min_share / 16;
constexpr std::size_t k_max_others = 16;
constexpr double k_about_as_much = 0.75, k_much = 0.4;  // as in the database's view main_loop

class Candidates {
 public:
  Candidates(const Tree& tree, const std::function<std::string(const Tree::Node&)>& name_of,
             const std::set<Tree::Index>& selected, const std::set<Tree::Index>& rejected)
      : tree_(tree) {
    // Looking up a name is slow, so only nodes that are large by themselves get one.
    for (Tree::Index i = 1; i < tree_.nodes().size(); ++i) {
      const auto& node = tree_.nodes()[i];
      const bool is_large = node.is_loop && node.iterations > 1 && share_of(i) >= k_min_share_of_node;
      if (is_large || selected.contains(i)) names_.emplace(i, name_of(node));
    }
    for (const auto index : selected) (rejected.contains(index) ? rejected_ : selected_).insert(names_.at(index));
  }

  // Returns the ranked loops with their verdicts.
  profile::LoopsRecord list() {
    for (const auto& [index, name] : names_) add(index, name);
    const auto main = main_loop();
    std::map<std::string, double> within_main;
    for (const auto& [index, name] : names_)
      if (!is_within(index, name) && is_within(index, main)) within_main[name] += share_of(index);
    std::vector<LoopCandidate> loops;
    for (auto& [name, entry] : entries_) {
      if (!entry.loop.is_taken && entry.loop.share < k_min_share) continue;
      if (name != main) {
        const bool is_in_main = within_main[name] > 0 && 2 * within_main[name] >= entry.loop.share;
        entry.loop.verdict = is_in_main ? "within the main loop" : verdict(entry, !main.empty());
      }
      loops.push_back(std::move(entry.loop));
    }
    std::ranges::stable_sort(loops, [](const auto& one, const auto& other) {
      return std::pair(one.is_taken, one.share) > std::pair(other.is_taken, other.share);
    });
    const auto selected = static_cast<std::size_t>(std::ranges::count_if(loops, &LoopCandidate::is_taken));
    if (loops.size() > selected + k_max_others) loops.resize(selected + k_max_others);
    return {std::move(loops)};
  }

 private:
  struct Entry {
    LoopCandidate loop;
    double visits = 0, turns = 0;
    double outside = 0;                  // share of the work, without work nested in selected loops
    Tree::Index largest = Tree::k_root;  // of the nodes with this name
  };

  [[nodiscard]] double all() const { return static_cast<double>(std::max<observe::Work>(tree_.now(), 1)); }
  // Returns the share of all work. Unobserved iterations of the enclosing loops count as the observed ones.
  [[nodiscard]] double share_of(Tree::Index index) const {
    return static_cast<double>(tree_.work_of(index)) / tree_.observed_share(index) / all();
  }
  [[nodiscard]] bool is_within(Tree::Index index, const std::string& name) const {
    for (auto at = tree_.nodes()[index].around; at != Tree::k_root; at = tree_.nodes()[at].around)
      if (const auto known = names_.find(at); known != names_.end() && known->second == name) return true;
    return false;
  }
  // Returns the outermost enclosing loop that was selected, or an empty name.
  [[nodiscard]] std::string selected_around(Tree::Index index) const {
    std::string outermost;
    for (auto at = tree_.nodes()[index].around; at != Tree::k_root; at = tree_.nodes()[at].around)
      if (const auto known = names_.find(at); known != names_.end() && selected_.contains(known->second))
        outermost = known->second;
    return outermost;
  }
  // Adds a node of the tree to the entry of its name.
  void add(Tree::Index index, const std::string& name) {
    const auto& node = tree_.nodes()[index];
    const auto [known, is_new] = entries_.try_emplace(name);
    auto& entry = known->second;
    if (is_new) {
      entry.loop.name = name;
      entry.loop.is_taken = selected_.contains(name) || rejected_.contains(name);
      entry.loop.begins_at = static_cast<double>(node.first_entry_work) / all();
      entry.largest = index;
    }
    if (share_of(index) > share_of(entry.largest)) entry.largest = index;
    entry.visits += static_cast<double>(node.visits) / tree_.observed_share(index);
    entry.turns += static_cast<double>(node.iterations) / tree_.observed_share(index);
    entry.loop.visits = static_cast<std::uint64_t>(entry.visits + 0.5);
    entry.loop.turns = static_cast<std::uint64_t>(entry.turns + 0.5);
    if (!is_within(index, name)) entry.loop.share += share_of(index);
    if (selected_around(index).empty()) entry.outside += share_of(index);
  }
  // Returns the name of the loop that the profile is of: of the selected loops, the first that does about as much
  // as the largest. Empty if that is less than k_much of the work since it began.
  [[nodiscard]] std::string main_loop() const {
    double most = 0;
    for (const auto& [name, entry] : entries_)
      if (selected_.contains(name)) most = std::max(most, entry.outside);
    const LoopCandidate* main = nullptr;
    for (const auto& [name, entry] : entries_) {
      const auto& loop = entry.loop;
      if (selected_.contains(name) && entry.outside >= k_about_as_much * most &&
          entry.outside >= k_much * (1 - loop.begins_at) && (main == nullptr || loop.begins_at < main->begins_at))
        main = &loop;
    }
    return main == nullptr ? std::string() : main->name;
  }
  // Returns why the loop is not the main loop, for the user.
  [[nodiscard]] std::string verdict(const Entry& entry, bool has_main) const {
    if (entry.loop.is_taken && !selected_.contains(entry.loop.name))
      return "chosen at first, but its iterations execute too few instructions";
    const auto around = selected_around(entry.largest);
    if (!around.empty() && around != entry.loop.name) return "within " + around;
    if (entry.loop.is_taken)
      return has_main ? "chosen at first, but another loop does more of the work"
                      : "chosen at first, but it does too little of the work";
    const auto& node = tree_.nodes()[entry.largest];
    if (node.num_similar == 0 && !node.is_steady)
      return node.miss_overlap.value_or(1) < Tree::k_min_miss_overlap ? "each iteration uses different memory"
             : node.iterations < 3 ? "it was over before its iterations could be compared"
                                   : "its iterations differ in work";
    return "its iterations are short, or it ended before a loop around it was known";
  }

  const Tree& tree_;
  std::map<Tree::Index, std::string> names_;
  std::set<std::string> selected_;  // without the rejected ones
  std::set<std::string> rejected_;
  std::map<std::string, Entry> entries_;
};

}  // namespace

profile::LoopsRecord loop_candidates(const Tree& tree,
                                     const std::function<std::string(const Tree::Node&)>& name_of,
                                     const std::set<Tree::Index>& selected,
                                     const std::set<Tree::Index>& rejected) {
  return Candidates(tree, name_of, selected, rejected).list();
}

}  // namespace terrace::runtime
