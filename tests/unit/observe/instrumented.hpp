// Declares functions that are compiled like a user's program, with the compiler's thread-sanitizer
// instrumentation, whose hooks are Terrace's. Each comment states the function's loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::observe::test {

__extension__ using Wide = unsigned __int128;

void triad(double* a, const double* b, const double* c, std::size_t n);  // 2 loads, 1 store an element
void* chase(void* first, std::size_t n);                                 // 1 load a step
void touch_all_sizes(char* aligned);             // 1 load and 1 store each of 1, 2, 4, 8 bytes
void unaligned(char* at);                        // 1 load and 1 store of 8 bytes
void volatiles(volatile int* at);                // 2 loads, 1 store
void copy_constant(char* to, const char* from);  // 64 bytes by memcpy

struct Virtual {
  virtual ~Virtual() = default;
  virtual int answer() { return 1; }
};
int call_virtual(Virtual& object);  // 2 loads: the table's address, the entry

// Executes every atomic operation of T once; returns a value that depends on each.
template <class T>
T atomics(T* at);
extern template std::uint8_t atomics(std::uint8_t*);
extern template std::uint16_t atomics(std::uint16_t*);
extern template std::uint32_t atomics(std::uint32_t*);
extern template std::uint64_t atomics(std::uint64_t*);
extern template Wide atomics(Wide*);
bool compare_exchange_orders(std::uint32_t* at);
void add_many(std::uint64_t* narrow, Wide* wide, int n);  // for threads

// Calls `look` at a depth of `depth` functions.
void nest(int depth, void (*look)());
// Returns by longjmp, or by an exception, from a depth of 5; then calls `look` from one more function.
void jump_and_look(void (*look)());
void throw_and_look(void (*look)());

}  // namespace terrace::observe::test
