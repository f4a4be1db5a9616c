// SPDX-License-Identifier: Apache-2.0
// Builds the command of a compiler wrapper (terrace-cc, terrace-c++, terrace-fc): the compiler, Terrace's options,
// and then the user's own, which therefore take precedence. Removes nothing, and adds nothing else: no
// optimisation level, no debug information.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::cli {

enum class WrapperLanguage { c, cxx, fortran };

// Folders of the installation that the command refers to.
struct WrapperLayout {
  std::string library;  // the folder of libterrace.so
  std::string
      stand_ins;  // the folder of the replacement for the compiler's libtsan, and of the assembler stand-in
};

// One call of a wrapper.
struct WrapperCall {
  WrapperLanguage language = WrapperLanguage::c;
  std::vector<std::string> compiler;   // "gcc", or several words ("ccache", "clang")
  std::vector<std::string> arguments;  // the user's
  bool off = false;                    // TERRACE_WRAPPER=off
};

// Requests of the arguments to the compiler.
struct WrapperRequest {
  bool inputs = false;    // there is something to compile or to link
  bool compiles = false;  // some input is a source
  bool links = false;
  bool is_static = false;          // asks for a program without a dynamic linker
  bool fortran = false;            // some input is Fortran
  bool sibling_calls = false;      // tail calls become jumps: at -O2 and above, or by name
  std::vector<std::string> words;  // the arguments, with response files expanded
};

// Returns what the arguments request. Expands response files; an unreadable one counts as empty.
WrapperRequest examine_request(const WrapperCall& call);

// Returns whether an option's value is the next word.
bool takes_value(std::string_view option);

// Returns whether an input is passed to the linker, by its name.
bool is_object(const std::string& name);

// Returns whether the compiler is clang or derived from it, by its name.
bool is_clang(const std::vector<std::string>& compiler);

// Returns whether the compiler is LLVM's Fortran compiler, by its name. No release of it instruments code.
bool is_flang(const std::vector<std::string>& compiler);

// Returns the words of the command. Throws Error{invalid} for requests that cannot work, such as -static.
std::vector<std::string> wrapper_command(const WrapperCall& call, const WrapperLayout& layout);

// Returns a warning for the user, as one line; "" if there is none.
std::string wrapper_note(const WrapperCall& call);

// Splits a response file into words by the compiler's rules: white space separates, quotes group, a backslash
// escapes the next character.
std::vector<std::string> split_response(const std::string& text);

// Returns one line that a shell splits into the same words.
std::string quote_command(const std::vector<std::string>& words);

}  // namespace terrace::cli
