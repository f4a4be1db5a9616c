// What the command line is made of, as JSON: `terrace --describe` lists the verbs, `terrace VERB --describe` one
// verb's options (cli/parse.hpp). The page of the command line, man pages and completion are written from it, so
// nothing states an option twice. The Python verbs answer the same (python/terrace/describe.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::cli {

struct Verb;

inline constexpr std::string_view k_describe = "--describe";

std::string description(const std::vector<Verb>& verbs);

}  // namespace terrace::cli
