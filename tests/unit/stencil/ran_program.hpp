// A random program executed by an engine.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host_backend.hpp"
#include "random_chain.hpp"
#include "stencil/engine/engine.hpp"

namespace terrace::stencil::test {

struct Results {
  std::vector<std::vector<double>> datasets;
  double sum = 0;
  double least = 0;
  double most = 0;
  friend bool operator==(const Results&, const Results&) = default;
};

// Serialises creation and destruction of multi-threaded engines: some close files by system calls that
// ThreadSanitizer does not see, and later files reuse their descriptors.
struct OneAtATime {
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  void operator()(Engine* engine) const {
    const std::scoped_lock lock(mutex());
    delete engine;
  }
};
using OwnEngine = std::unique_ptr<Engine, OneAtATime>;
inline OwnEngine make_engine(const Options& options, std::unique_ptr<Ranks> ranks) {
  static const HostVariant host;
  const std::scoped_lock lock(OneAtATime::mutex());
  const auto& executor = options.executor == HostVariant::k_name ? host : find_executor(options.executor);
  return OwnEngine(new Engine(options, executor, std::move(ranks)));
}

class Ran {
 public:
  // Runs the program `repeats` times and flushes after the loops listed in `ends`. `prepare` modifies each
  // loop.
  Ran(const RandomProgram& program, const Options& options, int times = 1, const std::set<std::size_t>& ends = {},
      std::unique_ptr<Ranks> ranks = nullptr, const std::function<void(Loop&)>& prepare = {})
      : engine_(make_engine(options, std::move(ranks))) {
    const auto block = engine_->add_block("block", program.size);
    for (std::size_t i = 0; i < program.halos.size(); ++i)
      ids_.push_back(engine_->add_dataset(block, "d" + std::to_string(i), sizeof(double), program.halos[i]));
    sum_ = engine_->add_reduction(ReductionKind::sum, Number::float64);
    least_ = engine_->add_reduction(ReductionKind::minimum, Number::float64);
    most_ = engine_->add_reduction(ReductionKind::maximum, Number::float64);
    for (int time = 0; time < times; ++time) {
      for (std::size_t l = 0; l < program.loops.size(); ++l) {
        auto loop = loop_of(program.loops[l]);
        if (prepare) prepare(loop);
        engine_->add_loop(std::move(loop));
        if (ends.contains(l)) engine_->run();
      }
    }
  }
  [[nodiscard]] const Statistics& statistics() const { return engine_->statistics(); }
  Results results() {
    Results results;
    engine_->value_of(sum_, reinterpret_cast<std::byte*>(&results.sum));
    engine_->value_of(least_, reinterpret_cast<std::byte*>(&results.least));
    engine_->value_of(most_, reinterpret_cast<std::byte*>(&results.most));
    for (const auto id : ids_) {
      const auto range = engine_->info(id).range;
      std::vector<double> numbers(range.points());
      engine_->get(id, range, reinterpret_cast<std::byte*>(numbers.data()));
      results.datasets.push_back(std::move(numbers));
    }
    return results;
  }

 private:
  Loop loop_of(const RandomLoop& from) {
    Loop loop;
    loop.name = "loop";
    loop.range = from.range;
    for (const auto& argument : from.arguments)
      loop.arguments.push_back({ids_[argument.dataset], engine_->info(ids_[argument.dataset]).name,
                                argument.access, argument.stencil, argument.stencil.low(), argument.stencil.high(),
                                sizeof(double)});
    if (from.is_reduced) loop.reductions = {{sum_}, {least_}, {most_}};
    loop.body = [&from](const Call& call) {
      for (auto z = call.range.begin[2]; z < call.range.end[2]; ++z)
        for (auto y = call.range.begin[1]; y < call.range.end[1]; ++y) do_row(from, call, y, z);
    };
    return loop;
  }
  static void do_row(const RandomLoop& from, const Call& call, std::ptrdiff_t y, std::ptrdiff_t z) {
    for (auto x = call.range.begin[0]; x < call.range.end[0]; ++x) {
      const auto value = do_point(from, {x, y, z}, [&](std::size_t argument, const Point& offset) -> double& {
        const auto& view = call.views[argument];
        return reinterpret_cast<double*>(
            view.origin)[x + offset[0] + (y + offset[1]) * view.row + (z + offset[2]) * view.plane];
      });
      if (!from.is_reduced) continue;
      const auto row = partial_row(call.loop.range, y, z);
      reinterpret_cast<double*>(call.partials[0])[row] += value;
      auto& least = reinterpret_cast<double*>(call.partials[1])[row];
      auto& most = reinterpret_cast<double*>(call.partials[2])[row];
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }

  OwnEngine engine_;
  std::vector<DatasetId> ids_;
  ReductionId sum_ = 0;
  ReductionId least_ = 0;
  ReductionId most_ = 0;
};

}  // namespace terrace::stencil::test
