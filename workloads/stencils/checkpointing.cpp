// Writes and restores checkpoints of the stencil programs, by their arguments. See checkpointing.hpp.
#include "workloads/stencils/checkpointing.hpp"

#include "core/error.hpp"

namespace terrace::stencil::programs {
namespace {

constexpr auto k_step = "step";

}  // namespace

Checkpointing::Checkpointing(Context& context, Arguments& arguments)
    : checkpoint_(context),
      file_(arguments.text("checkpoint", "")),
      every_(arguments.number("every", 0, 1)),
      restart_(arguments.text("restart", "")) {
  if (file_.empty() && every_ != 0)
    throw Error(Code::invalid, "every=" + std::to_string(every_) + ": there is no checkpoint=FILE to write");
  if (!file_.empty() && every_ < 1)
    throw Error(Code::invalid, "checkpoint=" + file_ + ": every=N with N from 1 on says after how many steps");
}

std::int64_t Checkpointing::begin(std::int64_t steps) {
  if (restart_.empty()) return 0;
  checkpoint_.restore(restart_);
  const auto done = checkpoint_.integer(k_step);
  if (done > steps)
    throw Error(Code::invalid, "restart=" + restart_ + ": " + std::to_string(done) + " steps are done there, " +
                                   std::to_string(steps) + " are requested: request more");
  return done;
}

void Checkpointing::done(std::int64_t steps) {
  if (file_.empty() || steps % every_ != 0) return;
  checkpoint_.set(k_step, steps);
  checkpoint_.write(file_);
}

}  // namespace terrace::stencil::programs
