// Reference of gpu_kernels_test.cpp: the same programs, compiled for the processor.
#include "all_kinds.hpp"
#include "rows.hpp"

namespace terrace::stencil::test {

std::vector<double> processor_numbers_of_all_kinds(const Options& options) {
  return numbers_of_all_kinds(options);
}
std::vector<double> processor_numbers_of_rows(const Options& options) { return numbers_of_rows(options); }

}  // namespace terrace::stencil::test
