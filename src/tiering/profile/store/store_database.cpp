// SPDX-License-Identifier: Apache-2.0
// Implements the wrapper of SQLite by which the merge, the readers and the launcher's summaries access a store.
// See store_database.hpp.
#include "profile/store/store_database.hpp"

#include "core/error.hpp"
#include "core/valid_text.hpp"

namespace terrace::profile {

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  check(sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

bool Statement::step() {
  const int result = sqlite3_step(handle_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) database_.fail();
  return false;
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void Statement::bind(int position, const std::string& value) {
  // Names hold what a program calls itself, in any bytes. Readers of a store expect text.
  if (!is_utf8(value)) {
    const auto valid = to_utf8(value);
    check(sqlite3_bind_text64(handle_, position, valid.data(), valid.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return;
  }
  check(sqlite3_bind_text64(handle_, position, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int position, std::span<const std::byte> value) {
  check(sqlite3_bind_blob64(handle_, position, value.data(), value.size(), SQLITE_STATIC));
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) database_.fail();
}

Database::Database(const std::string& path, Mode mode) : path_(path) {
  const int flags = mode == Mode::create   ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : mode == Mode::change ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READONLY;
  if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw Error(mode == Mode::create ? Code::failed : Code::not_found, path + ": " + reason);
  }
  constexpr int k_patience_ms = 60'000;
  if (mode != Mode::create) sqlite3_busy_timeout(handle_, k_patience_ms);
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::fail() const { throw Error(Code::failed, path_ + ": " + sqlite3_errmsg(handle_)); }

}  // namespace terrace::profile
