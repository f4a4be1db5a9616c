// SPDX-License-Identifier: Apache-2.0
// Answers queries of the loop tree, for the loop finder. See loop_tree.hpp.
#include <algorithm>

#include "observe/loops/loop_tree.hpp"

namespace terrace::observe {

Work LoopTree::work_of(Index node) const {
  auto work = nodes_[node].work;
  for (const auto& active : active_)
    if (active.node == node) return work + now_ - active.visit_begin;
  return work;
}

Work LoopTree::current_visit_work(Index node) const {
  for (const auto& active : active_)
    if (active.node == node) return now_ - active.visit_begin;
  return 0;
}

double LoopTree::observed_share(Index node) const {
  double share = 1;
  for (node = nodes_[node].around; node != k_root; node = nodes_[node].around)
    if (const auto& loop = nodes_[node]; loop.unobserved != 0)
      share *= static_cast<double>(loop.iterations - loop.unobserved) / static_cast<double>(loop.iterations);
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
