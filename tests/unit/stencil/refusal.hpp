// What a call is refused with.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace terrace::stencil::test {

// The text of an Error of that kind.
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

// The text of a std::invalid_argument.
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
