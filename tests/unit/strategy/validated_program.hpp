// Test fixture: a program of one chunk whose iteration time depends on the chunk's place, under a validated
// strategy that moves the chunk.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan.hpp"
#include "idle_requests.hpp"
#include "strategy/proof/validated_strategy.hpp"
#include "two_places.hpp"

namespace terrace::strategy {

// Performs moves at once.
class Doing final : public IdleRequests {
 public:
  explicit Doing(memory::ChunkTable& chunks) : chunks_(chunks) {}
  using IdleRequests::request_moves;
  void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex, std::uint32_t) override {
    for (const auto& move : moves) {
      chunks_.put(chunks_[move.chunk], move.to);
      ++moves_;
    }
  }
  void note(std::string_view severity, std::string_view text) override {
    notes.push_back(std::string(severity) + ": " + std::string(text));
  }
  void on_plan_adopted(const Plan&, std::string_view) override { ++plans; }
  void on_gain_measured(const MeasuredGain& proof) override { proofs.push_back(proof); }

  std::vector<std::string> notes;
  std::vector<MeasuredGain> proofs;
  int plans = 0;
  int moves_ = 0;

 private:
  memory::ChunkTable& chunks_;
};

// Profiles the first iteration, and then has a plan that moves the chunk to `to`. A given plan has it there from
// the start.
class OneMove final : public Strategy {
 public:
  OneMove(PlaceId to, bool is_given) : to_(to), is_given_(is_given) {}
  PlacementExtent initial_placement(const observe::Object&, std::uint32_t, std::uint32_t left) override {
    return {to_, left};
  }
  void on_event(const StrategyEvent& event, Requests& requests) override {
    if (std::holds_alternative<LoopBegun>(event)) is_planned_ = is_given_;
    if (const auto* begin = std::get_if<IterationBegins>(&event)) iteration_ = begin->iteration;
    if (const auto* phase = std::get_if<PhaseBegins>(&event)) plan_in(phase->iteration, requests);
    // Every phase requests the move again, as plans do.
    if (const auto* phase = std::get_if<PhaseBegun>(&event); phase && is_planned_)
      requests.request_moves(std::vector<transfer::TransferRequest>{{0, to_}}, 0, phase->iteration);
  }
  bool wants_profile() const override { return !is_given_ && iteration_ == 0; }

 private:
  void plan_in(std::uint32_t iteration, Requests& requests) {
    if (iteration == 0 || is_planned_) return;
    is_planned_ = true;
    Plan plan;
    plan.predicted = Seconds{1};
    plan.predicted_before = Seconds{2};
    requests.on_plan_adopted(plan, "");
    requests.request_moves(std::vector<transfer::TransferRequest>{{0, to_}}, 0, iteration);
  }

  PlaceId to_;
  bool is_given_;
  bool is_planned_ = false;
  std::uint32_t iteration_ = 0;
};

struct Program {
  Program(PlaceId unplaced, PlaceId planned, bool is_given, double predicted = 0, RankGroup* ranks = nullptr) {
    context.ranks = ranks;
    context.machine = &machine;
    context.chunks = &chunks;
    context.budget = {Bytes{1 << 20}, Bytes{1 << 20}};
    chunks.add(0, 4096, 0, 0, is_given ? planned : unplaced);
    guarded.emplace(context, std::make_unique<OneMove>(planned, is_given), true, is_given,
                    PredictedTimes{Seconds{}, Seconds{predicted}});
  }
  [[nodiscard]] PlaceId place() const { return chunks[0].place.load(); }
  // The place of the chunk in each iteration.
  std::vector<PlaceId> run(int iterations, const std::function<double(int, PlaceId)>& takes,
                           bool by_time = false) {
    std::vector<PlaceId> places;
    const std::string phase = "all";
    guarded->on_event(LoopBegun{"loop", false, by_time}, requests);
    for (int i = 0; i < iterations; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      guarded->on_event(IterationBegins{"loop", number}, requests);
      guarded->on_event(PhaseBegins{0, phase, number}, requests);
      guarded->on_event(PhaseBegun{0, phase, number}, requests);
      places.push_back(place());
      const Seconds time{takes(i, place())};
      guarded->on_event(PhaseEnded{0, phase, number, 0, time, works ? Seconds{works(i, place())} : time},
                        requests);
    }
    guarded->on_event(LoopEnded{}, requests);
    return places;
  }
  [[nodiscard]] const MeasuredGain& proof() const { return requests.proofs.at(0); }

  std::function<double(int, PlaceId)> works;  // of that, what the main thread had of a processor; none: all

  machine::Machine machine = two_latencies();
  memory::ChunkTable chunks;
  Context context;
  Doing requests{chunks};
  std::optional<ValidatedStrategy> guarded;
};

}  // namespace terrace::strategy
