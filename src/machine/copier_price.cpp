// See copier_price.hpp.
#include "machine/copier_price.hpp"

#include <algorithm>

#include "core/rounding.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

namespace {

double pieces(const CopierPrice& price, Bytes size) {
  return price.piece.value == 0 ? 1 : static_cast<double>(divided_up(size.value, price.piece.value));
}

}  // namespace

Seconds remapping_time(const CopierPrice& price, Bytes size) {
  auto time = pieces(price, size) * price.call;
  auto left = size.value;
  for (auto at = price.pages.rbegin(); at != price.pages.rend(); ++at) {
    const bool smallest = std::next(at) == price.pages.rend();
    const auto pages = smallest ? divided_up(left, at->page.value) : left / at->page.value;
    time += static_cast<double>(pages) * at->remap;
    left -= std::min(left, pages * at->page.value);
  }
  return time;
}

Seconds stall_time(const CopierPrice& price, Bytes size) { return pieces(price, size) * price.stall; }

BytesPerSecond copy_rate(const Machine& machine, const CopierPrice& price, std::uint32_t threads,
                         InitiatorId initiator, PlaceId from, PlaceId to) {
  auto rate = machine.copy_bandwidth(from, to);
  if (price.lines == 0 || threads == 0) return rate;
  const auto in_flight = threads * price.lines * static_cast<double>(machine.parts().line.value);
  for (const auto place : {from, to})
    for (const auto& path : machine.parts().paths)
      if (path.initiator == initiator && path.place == place)
        rate = std::min(rate, BytesPerSecond{in_flight / path.latency.value});
  return rate;
}

}  // namespace terrace::machine
