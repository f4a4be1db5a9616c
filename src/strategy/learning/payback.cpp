// See payback.hpp.
#include "strategy/learning/payback.hpp"

#include <algorithm>
#include <limits>

#include "machine/copier_price.hpp"
#include "observe/collecting/sampling_price.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_max_learning = 0.005;  // of the run, so far and expected
constexpr double k_there_and_back = 2;

// By the paths alone: what an access, or a byte, takes longer in the slowest place of the domain.
double most_gain(const Context& context) {
  const auto& places = context.places();
  if (places.empty()) return 0;
  double least = 1;
  const auto& fast = context.machine->path(context.initiator, places.front());
  for (const auto place : places) {
    const auto& slow = context.machine->path(context.initiator, place);
    least = std::min({least, fast.latency / slow.latency, slow.read.value / fast.read.value,
                      slow.write.value / fast.write.value});
  }
  return 1 - least;
}

double learning_share(const Context& context) {
  if (context.sample_interval.value <= 0) return 0;
  const auto record =
      observe::k_record_cost + (1.0 / observe::k_records_of_an_interrupt) * observe::k_interrupt_cost;
  return std::min(record / context.sample_interval, 1.0);
}

}  // namespace

Payback::Payback(const Context& context)
    : context_(context), most_gain_(most_gain(context)), learning_(learning_share(context)) {}

void Payback::loop_begun(const LoopBegun& event) {
  if (event.is_found) found_.emplace(event.name);
  is_found_ = found_.contains(event.name);
  turns_before_ = event.turns_before;
  iteration_ = 0;
  next_ = 0;
  usual_ = {};
  begun_ = context_.clock->now();
}

void Payback::iteration_begins(std::uint32_t iteration, bool was_learned) {
  const auto now = context_.clock->now();
  if (iteration > 0) {
    const auto time = now - begun_;
    if (!was_learned) {
      usual_ = time;
    } else if (usual_.value > 0) {
      const auto more = std::max(time - usual_, Seconds{});
      spent_ += more;
      learning_ = more / usual_;
    } else {
      spent_ += learning_ * time;
    }
  }
  iteration_ = iteration;
  begun_ = now;
}

bool Payback::may_learn() const {
  if (!is_found_) return true;
  if (seen() < next_ || usual_.value <= 0) return false;
  const auto now = context_.clock->now();
  const auto left = seen() * usual_;
  const auto costs = learning_ * usual_;
  return spent_ + costs <= k_max_learning * (now + left) && most_gain_ * left >= costs + cheapest_move();
}

bool Payback::pays(Seconds gain, std::span<const ActiveMove> moves) const {
  if (!is_found_) return true;
  return gain.value > 0 && seen() * gain >= k_there_and_back * cost_of(moves);
}

Seconds Payback::cost_of(ChunkId chunk, PlaceId from, PlaceId to) const {
  const auto& machine = *context_.machine;
  const Bytes size{(*context_.chunks)[chunk].size};
  return machine::move_time(machine, context_.initiator, context_.cores, from, to, size) +
         machine::stall_time(machine.copier(), size);
}

Seconds Payback::cost_of(std::span<const ActiveMove> moves) const {
  Seconds sum;
  for (const auto& move : moves) {
    const auto from = (*context_.chunks)[move.chunk].place.load(std::memory_order_relaxed);
    if (from != k_no_place && from != move.planned.to) sum += cost_of(move.chunk, from, move.planned.to);
  }
  return sum;
}

// Of any chunk in slow memory, there and back; nothing where there is none to move.
Seconds Payback::cheapest_move() const {
  const auto& places = context_.places();
  auto least = std::numeric_limits<double>::infinity();
  const auto home = context_.home();
  for (ChunkId id = 0; id < context_.chunks->size(); ++id) {
    const auto& chunk = (*context_.chunks)[id];
    if (chunk.live && chunk.domain == context_.domain && chunk.place.load(std::memory_order_relaxed) == home)
      least = std::min(least, cost_of(id, home, places.front()).value);
  }
  return Seconds{k_there_and_back * least};
}

}  // namespace terrace::strategy
