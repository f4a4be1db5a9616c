// A generator of coroutines that resume each other by symmetric transfer, 150,000 times in a row: constant stack
// by the language. Prints the sum of their results.
#include <coroutine>
#include <cstdio>
#include <cstdlib>

class Step {
 public:
  struct promise_type {
    Step get_return_object() { return Step(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Back {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
          if (done.promise().waiting) return done.promise().waiting;
          return std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Back{};
    }
    void return_value(long given) { value = given; }
    void unhandled_exception() { std::abort(); }

    std::coroutine_handle<> waiting;
    long value = 0;
  };

  explicit Step(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Step(Step&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  ~Step() {
    if (handle_) handle_.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  long await_resume() { return handle_.promise().value; }
  long run() {
    handle_.resume();
    return handle_.promise().value;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

static Step square(long n) { co_return n* n % 7; }
static Step sum(long n) {
  long total = 0;
  for (long i = 0; i < n; ++i) total += co_await square(i);
  co_return total;
}

int main() { std::printf("%ld\n", sum(150000).run()); }
