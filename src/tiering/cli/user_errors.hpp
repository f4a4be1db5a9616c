// SPDX-License-Identifier: Apache-2.0
// Turns errors of other modules into errors about the user's words: exit status 2, and the option's name in front.
// Used by the subcommands that read files or sizes which the user names.
#pragma once

#include <string>

#include "core/error.hpp"

namespace terrace::cli {

// Calls `body`, and turns Error{not_found} into Error{invalid}: a file or machine that the user named and that
// does not exist makes the call itself wrong.
template <class Body>
auto not_found_as_invalid(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw Error(Code::invalid, error.what());
  }
}

// Calls `body`, and puts the option's name before errors that begin with the value ("'abc' is not a size").
template <class Body>
auto with_option_name(const std::string& option, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!std::string(error.what()).starts_with("'")) throw;
    throw Error(error.code(), option + ": " + error.what());
  }
}

// Returns the end of a message on a size that is too small: that "256" lacks a unit. "" if it has one.
inline std::string unit_hint(const std::string& size) {
  return size.find_first_not_of("0123456789.") == std::string::npos
             ? "; a unit follows the number without a space: 4GiB"
             : "";
}

}  // namespace terrace::cli
