// The program's threads: each is told of its number by its creator, is followed from its first instruction on, and
// has its stack registered.
#include <pthread.h>

#include "access/thread.hpp"
#include "front/guest.hpp"
#include "front/next.hpp"
#include "front/object_registry.hpp"

namespace terrace::front {

namespace {

using Function = void* (*)(void*);

struct Beginning {
  Function function;
  void* argument;
  std::uint32_t number;
};

struct StackRange {
  std::uint64_t low = 0, high = 0;
};

// Where this thread's stack lies. Asking allocates in the C library: inside Terrace.
StackRange find_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto from = reinterpret_cast<std::uint64_t>(low);
  return {from, from + size};
}

// Runs when the thread ends, however it ends: returned, pthread_exit, cancelled.
void end_thread(void*) {
  const access::Inside inside;
  detach_thread();
  if (auto* const here = process()) {
    const auto stack = find_stack();
    here->objects->remove(stack.low, stack.high);
  }
  access::leave_thread();
}

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, end_thread);
    return made;
  }();
  return key;
}

void* run(void* data) {
  const auto beginning = *static_cast<Beginning*>(data);
  {
    const access::Inside inside;
    delete static_cast<Beginning*>(data);
    if (auto* const here = process()) {
      access::enter_thread(beginning.number);
      const auto stack = find_stack();
      if (stack.high > stack.low) note_thread_stack(*here, stack.low, stack.high);
      attach_thread();
      pthread_setspecific(end_key(), &access::t_thread);
    }
  }
  return beginning.function(beginning.argument);
}

}  // namespace

}  // namespace terrace::front

extern "C" TERRACE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*function)(void*), void* argument) noexcept {
  namespace front = terrace::front;
  static constinit front::Next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next{
      "pthread_create"};
  if (!front::process() || terrace::access::t_thread.inside > 0)
    return (*next)(thread, attributes, function, argument);
  front::Beginning* beginning = nullptr;
  {
    const terrace::access::Inside inside;
    beginning = new (std::nothrow) front::Beginning{function, argument, terrace::access::next_thread_number()};
  }
  if (!beginning) return (*next)(thread, attributes, function, argument);
  const int error = (*next)(thread, attributes, front::run, beginning);
  if (error != 0) delete beginning;
  return error;
}
