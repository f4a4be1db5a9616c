// Adds checkpoints to stencil programs that run in steps: arguments checkpoint=FILE, every=N and restart=FILE.
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
  // Help text of the arguments.
  static constexpr std::string_view k_arguments =
      "  checkpoint=FILE  write a checkpoint every=N steps\n"
      "  restart=FILE  resume from this checkpoint";

  // Parses the arguments. Throws Error{invalid} for invalid ones.
  Checkpointing(Context& context, Arguments& arguments);

  // Call it once all datasets exist. Returns how many of `steps` steps are done: none, or those of the
  // checkpoint, whose values the datasets then have. Throws what Checkpoint::restore throws, and Error{invalid}
  // if the file has more steps.
  [[nodiscard]] std::int64_t begin(std::int64_t steps);
  // Reports that `steps` steps are done, and writes a checkpoint if one is due. Throws what Checkpoint::write
  // throws.
  void done(std::int64_t steps);
  // Returns the named numbers of the state.
  [[nodiscard]] Checkpoint& numbers() { return checkpoint_; }

 private:
  Checkpoint checkpoint_;
  std::string file_;
  std::int64_t every_;
  std::string restart_;
};

}  // namespace terrace::stencil::programs
