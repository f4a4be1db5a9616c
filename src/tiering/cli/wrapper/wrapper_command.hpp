// What a compiler wrapper makes of the words it was given: the compiler's command with what Terrace needs in front
// of the user's own flags, which so have the last word. Nothing is taken away, and nothing else is added: no
// optimisation level, no debug information.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::cli {

enum class WrapperLanguage { c, cxx, fortran };

// Where the parts are that the command points to.
struct WrapperLayout {
  std::string library;    // the folder of libterrace.so
  std::string stand_ins;  // the folder of what takes the place of the compiler's libtsan
};

struct WrapperCall {
  WrapperLanguage language = WrapperLanguage::c;
  std::vector<std::string> compiler;   // "gcc", or several words ("ccache", "clang")
  std::vector<std::string> arguments;  // the user's
  bool off = false;                    // TERRACE_WRAPPER=off
};

// What the arguments ask the compiler for.
struct WrapperRequest {
  bool inputs = false;    // there is something to compile or to link
  bool compiles = false;  // some input is no object
  bool links = false;
  bool is_static = false;          // asks for a program without a dynamic linker
  bool fortran = false;            // some input is Fortran
  bool sibling_calls = false;      // calls at functions' ends are to become jumps: -O2 and more, or by name
  std::vector<std::string> words;  // the arguments, with those of response files in their place
};

// Looks through response files, too; one that cannot be read counts as no words.
WrapperRequest examine_request(const WrapperCall& call);

// Returns whether an option's value is the next word.
bool takes_value(std::string_view option);

// Returns whether an input goes to the linker as it is, by its name.
bool is_object(const std::string& name);

// Whether the command is clang or one of its descendants, by its name.
bool is_clang(const std::vector<std::string>& compiler);

// So for LLVM's Fortran compiler. No release of it instruments.
bool is_flang(const std::vector<std::string>& compiler);

// The words of the command. Throws Error{invalid} when it asks for what cannot work.
std::vector<std::string> wrapper_command(const WrapperCall& call, const WrapperLayout& layout);

// Returns what the user has to know of the command, as one line; empty where there is nothing.
std::string wrapper_note(const WrapperCall& call);

// A response file's text as words, by the compiler's rules: white space separates, quotes hold together, a
// backslash takes the next character as it is.
std::vector<std::string> split_response(const std::string& text);

// One line that a shell reads back as the same words.
std::string quote_command(const std::vector<std::string>& words);

}  // namespace terrace::cli
