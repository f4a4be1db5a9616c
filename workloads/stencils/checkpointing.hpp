// Checkpoints of programs that go in steps: arguments checkpoint=FILE, every=N and restart=FILE.
//
//   Checkpointing checkpoints(context, arguments);
//   ... blocks, datasets ...
//   auto step = checkpoints.begin(steps);
//   if (step == 0) ... loops that set the datasets ...
//   else time = checkpoints.numbers().real("time");
//   while (step < steps) {
//     ... loops of a step ...
//     checkpoints.numbers().set("time", time);
//     checkpoints.done(++step);
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "terrace/stencil/hdf5.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {

class Checkpointing {
 public:
  // What a program's arguments() says of them.
  static constexpr std::string_view k_arguments =
      "  checkpoint=FILE  where the state is kept, every=N steps\n"
      "  restart=FILE  goes on from there";

  // Takes the arguments. Throws Error{invalid} for those that make no sense.
  Checkpointing(Context& context, Arguments& arguments);

  // When all datasets are there. Returns how many of so many steps are done: none, or those of the file that the
  // program restarts from, whose numbers are in the datasets then. Throws what Checkpoint::restore does, and
  // Error{invalid} where the file has more steps.
  [[nodiscard]] std::int64_t begin(std::int64_t steps);
  // So many steps are done: keeps the state where it is time. Throws what Checkpoint::write does.
  void done(std::int64_t steps);
  // What else belongs to the state.
  [[nodiscard]] Checkpoint& numbers() { return checkpoint_; }

 private:
  Checkpoint checkpoint_;
  std::string file_;
  std::int64_t every_;
  std::string restart_;
};

}  // namespace terrace::stencil::programs
