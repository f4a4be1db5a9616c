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

// For a size that is far too small: "256" is meant to be megabytes by who writes it. "" where it has a unit.
inline std::string hint_on_units(const std::string& size) {
  return size.find_first_not_of("0123456789.") == std::string::npos
             ? "; a unit follows the number without a space: 4GiB"
             : "";
}

}  // namespace terrace::cli
