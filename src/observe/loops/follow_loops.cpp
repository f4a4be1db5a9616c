#include "observe/loops/follow_loops.hpp"

#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe {

namespace {

// The flags of floating-point exceptions, without <cfenv>: that is in the mathematical library.
#if defined(__x86_64__)
unsigned floating_state() { return __builtin_ia32_stmxcsr(); }
void set_floating_state(unsigned state) { __builtin_ia32_ldmxcsr(state); }
#elif defined(__aarch64__)
unsigned floating_state() { return __builtin_aarch64_get_fpsr(); }
void set_floating_state(unsigned state) { __builtin_aarch64_set_fpsr(state); }
#else
#error "floating_state() is not written for this processor"
#endif

// The program's floating-point exceptions are its own: what is computed in this scope raises none for it.
class QuietArithmetic {
 public:
  QuietArithmetic() : before_(floating_state()) {}
  ~QuietArithmetic() {
    if (floating_state() != before_) set_floating_state(before_);
  }
  QuietArithmetic(const QuietArithmetic&) = delete;
  QuietArithmetic& operator=(const QuietArithmetic&) = delete;

 private:
  unsigned before_;
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
