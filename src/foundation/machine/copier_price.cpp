// SPDX-License-Identifier: Apache-2.0
// Computes the times of chunk migrations from the prices of a machine file, for planners and the simulator. See
// copier_price.hpp.
#include "machine/copier_price.hpp"

#include <algorithm>

#include "core/rounding.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

namespace {

double num_pieces(const CopierPrice& price, Bytes size) {
  return price.piece.value == 0 ? 1 : static_cast<double>(ceil_div(size.value, price.piece.value));
}

}  // namespace

Seconds remapping_time(const CopierPrice& price, Bytes size) {
  auto time = num_pieces(price, size) * price.call;
  auto left = size.value;
  for (auto at = price.pages.rbegin(); at != price.pages.rend(); ++at) {
    const bool smallest = std::next(at) == price.pages.rend();
    const auto pages = smallest ? ceil_div(left, at->page.value) : left / at->page.value;
    time += static_cast<double>(pages) * at->remap;
    left -= std::min(left, pages * at->page.value);
  }
  return time;
}

Seconds stall_time(const CopierPrice& price, Bytes size) { return num_pieces(price, size) * price.stall; }

Seconds sentinel_time(const CopierPrice& price, Bytes size) {
  if (!price.trap) return {};
  const auto piece = price.piece.value == 0 ? size : std::min(size, price.piece);
  return *price.trap + 2 * (remapping_time(price, piece) + stall_time(price, piece));
}

std::uint32_t mover_threads(const CopierPrice& price, const Initiator& initiator, double busy) {
  return std::min(price.threads, static_cast<std::uint32_t>(std::max(1.0, initiator.cores - busy)));
}

BytesPerSecond copy_rate(const Machine& machine, const CopierPrice& price, std::uint32_t threads,
                         InitiatorId initiator, PlaceId from, PlaceId to) {
  auto rate = machine.copy_bandwidth(from, to);
  const auto lines = price.lines > 0 ? price.lines : machine.initiators().at(initiator).prefetch_mlp;
  const auto in_flight = threads * lines * static_cast<double>(machine.parts().line.value);
  for (const auto& path : machine.parts().paths) {
    if (path.initiator != initiator || (path.place != from && path.place != to)) continue;
    rate = std::min(rate, path.place == from ? path.read : path.write);
    if (in_flight > 0) rate = std::min(rate, BytesPerSecond{in_flight / path.latency.value});
  }
  return rate;
}

Seconds move_time(const Machine& machine, InitiatorId initiator, double busy, PlaceId from, PlaceId to,
                  Bytes size) {
  const auto& price = machine.copier();
  const auto threads = mover_threads(price, machine.initiators().at(initiator), busy);
  return remapping_time(price, size) + size / copy_rate(machine, price, threads, initiator, from, to);
}

}  // namespace terrace::machine
