// SPDX-License-Identifier: Apache-2.0
// Wraps SQLite (RAII) for the merge, the readers of stores and the launcher's summaries: errors become exceptions,
// and statements are finalised at the end of their scope.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/units.hpp"

namespace terrace::profile {

class Database;

class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds all parameters in order, executes the statement to its end, and resets it.
  template <class... Values>
  void run(const Values&... values) {
    bind_all(values...);
    while (step()) {
    }
    sqlite3_reset(handle_);
  }
  template <class... Values>
  void bind_all(const Values&... values) {
    sqlite3_reset(handle_);
    int position = 0;
    (bind(++position, values), ...);
  }
  bool step();  // returns true while there is a row

  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(handle_, column); }
  [[nodiscard]] std::string text(int column) const;  // text, or the bytes of a blob

 private:
  void check(int result) const;
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void bind(int position, T value) {
    check(sqlite3_bind_int64(handle_, position, static_cast<sqlite3_int64>(value)));
  }
  void bind(int position, double value) { check(sqlite3_bind_double(handle_, position, value)); }
  void bind(int position, Seconds value) { bind(position, value.value); }
  void bind(int position, BytesPerSecond value) { bind(position, value.value); }
  void bind(int position, Bytes value) { bind(position, value.value); }
  template <class T>
  void bind(int position, const std::optional<T>& value) {
    value ? bind(position, static_cast<std::int64_t>(*value)) : check(sqlite3_bind_null(handle_, position));
  }
  // Requires: text and blobs live until the statement is reset.
  void bind(int position, const std::string& value);
  void bind(int position, const char* value) = delete;
  void bind(int position, std::span<const std::byte> value);

  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

class Database {
 public:
  // Mode::change and Mode::read wait for other processes that change the file, for at most a minute.
  enum class Mode { create, change, read };
  Database(const std::string& path, Mode mode);
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);
  [[nodiscard]] std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[noreturn]] void fail() const;  // throws Error{failed} with the path and SQLite's reason

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace terrace::profile
