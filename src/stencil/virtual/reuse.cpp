// See reuse.hpp.
#include "stencil/virtual/reuse.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace terrace::stencil {

void Reuse::add_blocks(std::size_t count, double bytes) {
  bytes_.insert(bytes_.end(), count, bytes);
  last_.insert(last_.end(), count, k_never);
  renumber();
}

void Reuse::add(std::size_t at, double bytes) {
  for (++at; at < tree_.size(); at += at & (~at + 1)) tree_[at] += bytes;
}

double Reuse::sum(std::size_t end) const {
  double bytes = 0;
  for (; end > 0; end -= end & (~end + 1)) bytes += tree_[end];
  return bytes;
}

void Reuse::renumber() {
  std::vector<std::size_t> order;
  for (std::size_t block = 0; block < last_.size(); ++block)
    if (last_[block] != k_never) order.push_back(block);
  std::ranges::sort(order, {}, [&](std::size_t block) { return last_[block]; });
  tree_.assign(8 * last_.size() + 2, 0);
  now_ = 0;
  for (const auto block : order) {
    last_[block] = now_;
    add(now_++, bytes_[block]);
  }
}

double Reuse::access(std::size_t block) {
  if (now_ + 1 >= tree_.size()) renumber();
  auto distance = std::numeric_limits<double>::infinity();
  if (last_[block] != k_never) {
    distance = std::max(sum(now_) - sum(last_[block] + 1), 0.0);
    add(last_[block], -bytes_[block]);
  }
  last_[block] = now_;
  add(now_++, bytes_[block]);
  return distance;
}

}  // namespace terrace::stencil
