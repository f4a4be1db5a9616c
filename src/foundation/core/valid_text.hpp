// SPDX-License-Identifier: Apache-2.0
// Validates and repairs UTF-8. Names of symbols, files and arguments may contain any bytes; profiles contain UTF-8
// only: their database repairs each text that it stores.
#pragma once

#include <string>
#include <string_view>

namespace terrace {

// Returns whether a text is UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
bool is_utf8(std::string_view text);

// Returns the text with each byte that is not part of a valid character replaced by U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace terrace
