// Queries of the loop tree: see loop_tree.hpp.
#include <algorithm>

#include "observe/loops/loop_tree.hpp"

namespace terrace::observe {

Work LoopTree::work_of(Index node) const {
  auto work = nodes_[node].work;
  for (const auto& active : active_)
    if (active.node == node) return work + now_ - active.begun;
  return work;
}

Work LoopTree::work_of_visit(Index node) const {
  for (const auto& active : active_)
    if (active.node == node) return now_ - active.begun;
  return 0;
}

double LoopTree::share_seen(Index node) const {
  double share = 1;
  for (node = nodes_[node].around; node != k_root; node = nodes_[node].around)
    if (const auto& loop = nodes_[node]; loop.unseen != 0)
      share *= static_cast<double>(loop.turns - loop.unseen) / static_cast<double>(loop.turns);
  return share;
}

bool LoopTree::is_inside(Index node, Index around) const {
  for (; node != k_root; node = nodes_[node].around)
    if (node == around) return true;
  return around == k_root;
}

bool LoopTree::is_active(Index node) const {
  return std::ranges::any_of(active_, [&](const Active& one) { return one.node == node; });
}

}  // namespace terrace::observe
