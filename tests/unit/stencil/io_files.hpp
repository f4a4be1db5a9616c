// Helpers for files of tests and their contents.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "terrace/stencil/hdf5.hpp"

namespace terrace::stencil::test {

// A temporary folder, removed by the destructor.
class Folder {
 public:
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "terrace-stencil-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error(Code::failed, name + " cannot be made");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes a new file: some file systems sync a file that is truncated and closed.
inline void write_content(const std::string& path, const std::string& content) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(content.data(), std::ssize(content));
}

// Random bits, so that NaN, subnormal and infinite values occur.
template <class T>
std::vector<T> random_numbers(std::mt19937_64& random, std::size_t count) {
  std::vector<T> numbers(count);
  for (auto& number : numbers) {
    const auto bits = random();
    std::memcpy(&number, &bits, sizeof number);
  }
  return numbers;
}

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <class T>
std::string bytes_of(const Dataset<T>& dataset) {
  return bytes_of(dataset.get(dataset.range()));
}

// Checks that the error is one line that begins with the file's name.
template <class Action>
std::string error_of(Action action, Code code) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (error.code() != code) return "another code: " + text;
    return text.find('\n') == std::string::npos ? text : "several lines: " + text;
  }
  return "no error";
}

inline const Options k_serial{.executor = "serial", .threads = 1};

}  // namespace terrace::stencil::test
