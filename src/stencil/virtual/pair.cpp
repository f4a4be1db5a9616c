// See pair.hpp.
#include "stencil/virtual/pair.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

double bandwidth_of(const machine::Path& path) { return std::min(path.read.value, path.write.value); }

}  // namespace

Pair pair_of(const machine::Machine& machine, const PairOptions& options) {
  std::vector<std::pair<double, PlaceId>> by_speed;
  for (PlaceId place = 0; place < machine.places().size(); ++place)
    by_speed.emplace_back(bandwidth_of(machine.path(0, place)), place);
  if (by_speed.size() < 2)
    throw Error(Code::invalid, "the machine " + machine.name() + " has one memory only: streaming needs two");
  std::ranges::stable_sort(by_speed, std::greater{}, &std::pair<double, PlaceId>::first);
  const auto fast = by_speed[0].second, slow = by_speed[1].second;
  Pair pair;
  pair.fast_name = machine.places()[fast].name;
  pair.slow_name = machine.places()[slow].name;
  pair.fast_bytes =
      static_cast<double>((options.memory.value > 0 ? options.memory : machine.places()[fast].capacity).value);
  pair.fast_bandwidth = by_speed[0].first;
  pair.slow_bandwidth = by_speed[1].first;
  pair.loop_bandwidth = options.loop_bandwidth > 0 ? options.loop_bandwidth : pair.fast_bandwidth;
  pair.in_bandwidth = machine.copy_bandwidth(slow, fast).value;
  pair.out_bandwidth = machine.copy_bandwidth(fast, slow).value;
  pair.slow_read = machine.path(0, slow).read.value;
  pair.slow_write = machine.path(0, slow).write.value;
  if (!machine.parts().gpus.empty()) {
    const auto& gpu = machine.parts().gpus.front();
    pair.launch = gpu.launch_cycles / gpu.hertz;
    pair.call = gpu.notice / gpu.hertz;
    pair.fault = gpu.fault / gpu.hertz;
    pair.fault_bytes = static_cast<double>(gpu.fault_batch) * static_cast<double>(gpu.page_bytes);
    for (const auto& memory : gpu.memories)
      if (memory.place == slow && memory.link_bytes_per_second > 0)
        pair.slow_read = pair.slow_write = memory.bytes_per_second;
  }
  return pair;
}

}  // namespace terrace::stencil
