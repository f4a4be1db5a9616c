// SPDX-License-Identifier: Apache-2.0
// Computes from reuse distances which part of a loop's accesses misses a direct-mapped cache, and what is written
// back. Called by the mode `cache` of virtual time for each part of a loop.
#include "stencil/virtual/last_accesses.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "stencil/plan/boxes.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_moments = std::size_t{1} << 16U;  // minimum number of moments before renumbering

}  // namespace

void LastAccesses::add(const DatasetInfo& info) {
  datasets_.resize(std::max<std::size_t>(datasets_.size(), info.id + 1));
  datasets_[info.id] = {static_cast<double>(info.element), {}};
}

void LastAccesses::add(Moment moment, double bytes) {
  all_ += bytes;
  sums_.add(moment, bytes);
}

double LastAccesses::since(Moment moment) const { return std::max(all_ - sums_.sum(moment), 0.0); }

void LastAccesses::renumber() {
  std::vector<Moment> left;
  for (const auto& of : datasets_)
    for (const auto& piece : of.pieces) left.push_back(piece.last);
  std::ranges::sort(left);
  const auto behind = std::ranges::unique(left);
  left.erase(behind.begin(), behind.end());
  sums_.reset(std::max(k_moments, 4 * left.size()));
  all_ = 0;
  for (auto& of : datasets_)
    for (auto& piece : of.pieces) {
      piece.last = static_cast<Moment>(std::distance(left.begin(), std::ranges::lower_bound(left, piece.last)));
      add(piece.last, static_cast<double>(piece.range.points()) * of.element);
    }
  now_ = static_cast<Moment>(left.size());
}

std::vector<LastAccesses::Found> LastAccesses::access(std::span<const Touch> touches) {
  if (now_ + 1 >= sums_.size()) renumber();
  std::vector<Found> found;
  std::vector<double> clean(touches.size());
  for (std::size_t i = 0; i < touches.size(); ++i) found.push_back(take(touches[i], clean[i]));
  for (const auto& [moment, bytes] : taken_) add(moment, -bytes);
  taken_.clear();
  for (std::size_t i = 0; i < touches.size(); ++i) put(touches[i], clean[i]);
  ++now_;
  return found;
}

// Splits the stored ranges at the touched one, and computes from their ages what of it is still cached.
LastAccesses::Found LastAccesses::take(const Touch& touch, double& clean) {
  auto& of = datasets_[touch.dataset];
  const auto all = static_cast<double>(touch.reached.points());
  double lost = all, stored = 0;  // points
  clean = all;
  Boxes hole;
  hole.add(touch.reached);
  std::vector<Piece> left;
  for (std::size_t p = 0; p < of.pieces.size();) {
    const auto piece = of.pieces[p];
    const auto both = intersection(piece.range, touch.reached);
    if (both.empty()) {
      ++p;
      continue;
    }
    const auto share = 1 - std::exp(-since(piece.last) / capacity_);
    const auto points = static_cast<double>(both.points());
    lost -= points * (1 - share);
    stored += points * std::max(share - piece.clean, 0.0);
    clean -= points * (1 - std::max(share, piece.clean));
    taken_.emplace_back(piece.last, points * of.element);
    for (const auto& range : hole.missing(piece.range)) left.push_back({range, piece.last, piece.clean});
    of.pieces[p] = of.pieces.back();
    of.pieces.pop_back();
  }
  of.pieces.insert(of.pieces.end(), left.begin(), left.end());
  clean /= all;
  return {lost / all, stored / all};
}

// Stores the touched range as accessed now, what the touch writes as dirty.
void LastAccesses::put(const Touch& touch, double clean) {
  auto& of = datasets_[touch.dataset];
  Boxes written;
  written.add(touch.written);
  for (const auto& range : written.missing(touch.reached)) of.pieces.push_back({range, now_, clean});
  if (!touch.written.empty()) of.pieces.push_back({touch.written, now_, 0});
  add(now_, static_cast<double>(touch.reached.points()) * of.element);
}

}  // namespace terrace::stencil
