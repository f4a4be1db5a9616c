#include "observe/loops/follow_loops.hpp"

#include <cfenv>

#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe {

namespace {

// The program's floating-point exceptions are its own: what is computed in this scope raises none for it.
class QuietArithmetic {
 public:
  QuietArithmetic() { std::fegetexceptflag(&flags_, FE_ALL_EXCEPT), raised_ = std::fetestexcept(FE_ALL_EXCEPT); }
  ~QuietArithmetic() {
    if (std::fetestexcept(FE_ALL_EXCEPT) != raised_) std::fesetexceptflag(&flags_, FE_ALL_EXCEPT);
  }
  QuietArithmetic(const QuietArithmetic&) = delete;
  QuietArithmetic& operator=(const QuietArithmetic&) = delete;

 private:
  std::fexcept_t flags_{};
  int raised_ = 0;
};

// Whatever the listener does is Terrace's own doing.
template <class Event>
void report(Event event) {
  Thread& thread = t_thread;
  const Inside inside;
  const QuietArithmetic quiet;
  auto& tree = *thread.loops;
  event(tree, thread.depth, thread.pipeline ? thread.pipeline->work() : 0);
  thread.followed_depth = tree.followed_depth();
}

}  // namespace

void set_loop_tree(LoopTree* tree) noexcept {
  t_thread.loops = tree;
  t_thread.followed_depth = tree ? tree->followed_depth() : 0;
}

void report_call(std::uint64_t function, std::uint64_t call_site) {
  report([=](LoopTree& tree, std::uint32_t depth, Work now) { tree.enter(function, call_site, depth, now); });
}

void report_return() {
  report([](LoopTree& tree, std::uint32_t depth, Work now) { tree.leave(depth, now); });
}

void report_sample(std::uint64_t site) {
  report([=](LoopTree& tree, std::uint32_t depth, Work now) { tree.sample(site, depth, now); });
}

void report_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  if (!thread.loops->concerns(site, thread.depth)) return;
  report([=](LoopTree& tree, std::uint32_t depth, Work now) { tree.block(site, depth, now); });
}

}  // namespace terrace::observe
