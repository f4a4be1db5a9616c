// Returns the error text of a refused call.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace terrace::stencil::test {

// Returns the text of an Error with this code.
template <class Action>
std::string refusal(Action action, Code code = Code::invalid) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing is refused";
}

// Returns the text of a std::invalid_argument.
template <class Action>
std::string wrong_call(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing is refused";
}

}  // namespace terrace::stencil::test
