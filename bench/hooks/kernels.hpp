// Declares the loops of hooks_bench, which are compiled with the compiler's thread-sanitizer instrumentation and
// no run-time library of its own: their loads and stores arrive at Terrace's hooks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::bench {

void triad(double* a, const double* b, const double* c, std::size_t n);     // 3 accesses an element
double sum(const double* a, std::size_t n);                                 // 1
double gather(const double* x, const std::uint32_t* index, std::size_t n);  // 2
void update(std::uint64_t* table, std::size_t mask, std::size_t n);         // 2, at random
void* chase(void* first, std::size_t n);                                    // 1
std::uint64_t calls(std::size_t n);                                         // n calls of a function

}  // namespace terrace::bench
