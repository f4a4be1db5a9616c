// See affordable_moves.hpp.
#include "strategy/learning/affordable_moves.hpp"

namespace terrace::strategy {

std::vector<ActiveMove> affordable_moves(const Context& context, std::span<const ActiveMove> moves,
                                         const UnderWay& under_way, Seconds budget, const MoveCost& cost) {
  const auto home = context.home();
  std::vector<ActiveMove> out, in;
  for (const auto& move : moves) (move.planned.to == home ? out : in).push_back(move);
  RoomAhead room(context, under_way);
  std::vector<ActiveMove> affordable;
  auto next_out = out.begin();
  for (const auto& move : in) {
    const auto before = affordable.size();
    auto spent = cost(move);
    auto freed = next_out;
    bool fits = room.move(move.chunk, move.planned.to);
    while (!fits && freed != out.end()) {
      spent += cost(*freed);
      affordable.push_back(*freed);
      static_cast<void>(room.move(freed->chunk, home));
      ++freed;
      fits = room.move(move.chunk, move.planned.to);
    }
    if (!fits || spent > budget) {
      affordable.resize(before);
      return affordable;
    }
    budget -= spent;
    affordable.push_back(move);
    next_out = freed;
  }
  for (; next_out != out.end(); ++next_out) {
    const auto spent = cost(*next_out);
    if (spent > budget) break;
    budget -= spent;
    affordable.push_back(*next_out);
  }
  return affordable;
}

}  // namespace terrace::strategy
