// First come, first served: objects in the order in which the program makes them, each chunk in the fastest place
// that still has room.
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

class FirstTouch final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "first-touch"; }
  [[nodiscard]] bool needs_profile() const override { return false; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    auto placement = at_home(problem);
    auto room = room_beside_pins(problem);
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const auto& item = problem.items[i];
      if (item.pinned != k_no_place) continue;
      for (const auto place : model::fastest_first(problem, item.domain)) {
        if (room[place] < item.size) continue;
        room[place] -= item.size;
        placement[i] = place;
        break;
      }
    }
    return stay(problem, placement);
  }
};

}  // namespace

const Planner& first_touch_planner() {
  static const FirstTouch planner;
  return planner;
}

}  // namespace terrace::strategy
