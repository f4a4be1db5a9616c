// Reference of checks_test.cpp: the same program without checks.
#include "all_kinds.hpp"

namespace terrace::stencil::test {

std::vector<double> unchecked_numbers(const Options& options) { return numbers_of_all_kinds(options); }

}  // namespace terrace::stencil::test
