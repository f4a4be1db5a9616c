// Declares the command line of all workloads: `--name value` pairs, and --help. It is small so that they need
// nothing but a C++ compiler, whichever wrapper builds them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace workloads {

class Options {
 public:
  /// `program` and `summary` are what --help prints first.
  Options(std::string program, std::string summary);

  // Each declares an option. The value of its target is the default, which --help prints unless it is 0 or empty.
  void text(std::string name, std::string* target, std::string help);
  /// A whole number of at least 1.
  void count(std::string name, std::uint64_t* target, std::string help);
  /// A size in bytes: 4096, 64KiB, 1.5GiB, 10MB.
  void bytes(std::string name, std::uint64_t* target, std::string help);

  /// Suppresses the texts of --help and of wrong calls: of a program's ranks, one prints them.
  void silence() { silent_ = true; }

  /// Fills the targets. Prints the help and exits 0 on --help; prints one line and exits 2 on a wrong call.
  void parse(int argc, char** argv) const;

  /// Prints "PROGRAM: MESSAGE" and exits 2: a wrong call that only the workload can recognise.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct Count {
    std::uint64_t* target;
  };
  struct Bytes {
    std::uint64_t* target;
  };
  struct Option {
    std::string name;
    std::variant<std::string*, Count, Bytes> target;
    std::string help;
    std::string standard;  // the default as --help prints it, or empty
  };

  void assign(const Option& option, const std::string& value) const;
  void print_help() const;

  std::string program_;
  std::string summary_;
  std::vector<Option> options_;
  bool silent_ = false;
};

}  // namespace workloads
