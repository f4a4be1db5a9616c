// See first_fit.hpp.
#include "strategy/tiering/first_fit.hpp"

#include <algorithm>

namespace terrace::strategy {

std::optional<Stretch> first_fit(const Context& context, const observe::Object& object, std::uint32_t left) {
  for (const auto place : context.places()) {
    const auto room = context.ledger->available(place).value / object.chunk_size.value;
    if (room > 0) return Stretch{place, static_cast<std::uint32_t>(std::min<std::uint64_t>(room, left))};
  }
  return std::nullopt;
}

}  // namespace terrace::strategy
