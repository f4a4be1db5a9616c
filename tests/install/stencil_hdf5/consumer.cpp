// A program that writes a checkpoint, and one that goes on from it: the same numbers as of one that was never
// interrupted. Exits 1 if they are not, or if a file that is none is not refused by its name.
#include <cstdio>
#include <exception>
#include <string>
#include <terrace/stencil/hdf5.hpp>
#include <vector>

using namespace terrace::stencil;

namespace {

struct Heat {
  Context context{Options{}};
  Block plate = context.block("plate", {40, 30});
  Dataset<double> now = plate.dataset<double>("now", {{-1, -1}, {1, 1}});
  Dataset<double> then = plate.dataset<double>("then", {{-1, -1}, {1, 1}});
  int step = 0;

  void start() {
    plate.loop(
        "start", plate.range(), [](auto u, auto at) { u() = at[0] * at[0] - 3.0 * at[1]; }, write(now), index());
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i, ++step) {
      plate.loop(
          "sweep", plate.range(),
          [](auto to, auto from) { to() = 0.25 * (from(-1, 0) + from(1, 0) + from(0, -1) + from(0, 1)); },
          write(then), read(now, star(2, 1)));
      plate.loop(
          "back", plate.range(), [](auto to, auto from) { to() = from(); }, write(now), read(then));
    }
  }
  std::vector<double> numbers() { return now.get(plate.range()); }
};

bool goes_on() {
  Heat whole;
  whole.start();
  whole.steps(9);
  {
    Heat first;
    first.start();
    first.steps(4);
    Checkpoint checkpoint(first.context);
    checkpoint.set("step", first.step);
    checkpoint.write("state.h5");
  }
  Heat second;
  Checkpoint checkpoint(second.context);
  checkpoint.restore("state.h5");
  second.step = static_cast<int>(checkpoint.integer("step"));
  second.steps(9 - second.step);
  write_hdf5("end.h5", second.now, "now");
  Heat third;
  read_hdf5("end.h5", third.now, "now");
  return second.numbers() == whole.numbers() && third.numbers() == whole.numbers();
}

bool refuses() {
  Heat heat;
  try {
    restore(heat.context, "nothing.h5");
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).rfind("nothing.h5", 0) == 0;
  }
  return false;
}

}  // namespace

int main() {
  try {
    if (goes_on() && refuses()) return 0;
    std::puts("broken: other numbers, or another error");
  } catch (const std::exception& error) {
    std::printf("broken: %s\n", error.what());
  }
  return 1;
}
