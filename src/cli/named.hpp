// Errors about what the user has named or written.
#pragma once

#include <string>

#include "core/error.hpp"

namespace terrace::cli {

// What was named and is not there makes the call a wrong one, as a file that breaks its schema does.
template <class Body>
auto as_called(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw Error(Code::invalid, error.what());
  }
}

// Says in which option a value is none, where the error begins with the value ("'abc' is not a size").
template <class Body>
auto in_option(const std::string& option, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!std::string(error.what()).starts_with("'")) throw;
    throw Error(error.code(), option + ": " + error.what());
  }
}

}  // namespace terrace::cli
