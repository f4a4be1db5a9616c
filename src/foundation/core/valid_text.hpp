// Text as UTF-8. Names of symbols, files and arguments may hold any bytes; profiles hold UTF-8, which readers rely
// on.
#pragma once

#include <string>
#include <string_view>

namespace terrace {

// Returns whether a text is UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
bool is_utf8(std::string_view text);

// Returns the text with U+FFFD in place of each byte that belongs to no character.
std::string to_utf8(std::string_view text);

}  // namespace terrace
