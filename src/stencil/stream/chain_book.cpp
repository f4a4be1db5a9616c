// See chain_book.hpp.
#include "stencil/stream/chain_book.hpp"

#include <algorithm>
#include <utility>

#include "stencil/plan/signature.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_most = 32;

}  // namespace

ChainBook::Entry ChainBook::next(std::span<const Loop> chain) {
  auto& known = find(chain);
  if (last_) last_->next = &known;
  last_ = &known;
  auto& way = known.ways[is_reversed_ ? 1 : 0];
  if (!way.tiles) {
    way = maker_(chain, is_reversed_);
    way.moved = std::make_shared<StreamMoves>(way.stream->steps.size() + 1);
  }
  if (both_ways_) is_reversed_ = !is_reversed_;
  return {&way, known.next ? known.next->ways[is_reversed_ ? 1 : 0].stream : nullptr};
}

ChainBook::Known& ChainBook::find(std::span<const Loop> chain) {
  auto signature = signature_of(chain);
  ++uses_;
  for (auto& known : all_)
    if (known->signature == signature) {
      known->used = uses_;
      return *known;
    }
  if (all_.size() == k_most) {
    const auto oldest = std::ranges::min_element(all_, {}, [](const auto& known) { return known->used; });
    for (auto& known : all_)
      if (known->next == oldest->get()) known->next = nullptr;
    if (last_ == oldest->get()) last_ = nullptr;
    all_.erase(oldest);
  }
  auto& made = *all_.emplace_back(std::make_unique<Known>());
  made.signature = std::move(signature);
  made.used = uses_;
  return made;
}

}  // namespace terrace::stencil
