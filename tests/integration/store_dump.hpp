// Dumps a profile losslessly as text, one line per row, for comparison.
#pragma once

#include <sqlite3.h>

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace terrace::test {

namespace detail {

class Query {
 public:
  Query(sqlite3* store, const std::string& text) {
    if (sqlite3_prepare_v2(store, text.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
      throw std::runtime_error(text + ": " + sqlite3_errmsg(store));
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  bool step() { return sqlite3_step(statement_) == SQLITE_ROW; }
  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_); }
  [[nodiscard]] std::string name(int i) const { return sqlite3_column_name(statement_, i); }
  /// Formats numbers by their bits, other values by their bytes.
  [[nodiscard]] std::string value(int i) const {
    if (sqlite3_column_type(statement_, i) == SQLITE_FLOAT) {
      char text[64];
      std::snprintf(text, sizeof text, "%a", sqlite3_column_double(statement_, i));
      return text;
    }
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, i));
    return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, i))) : "-";
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace detail

/// Returns the number in a query's first row. Throws without rows.
inline double store_number(const std::string& path, const std::string& query) {
  sqlite3* store = nullptr;
  sqlite3_stmt* statement = nullptr;
  const bool found = sqlite3_open_v2(path.c_str(), &store, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
                     sqlite3_prepare_v2(store, query.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
                     sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL;
  const auto number = found ? sqlite3_column_double(statement, 0) : 0;
  sqlite3_finalize(statement);
  sqlite3_close(store);
  if (!found) throw std::runtime_error(query + ": no answer from " + path);
  return number;
}

/// Columns to ignore: the place of a file and the subcommand that wrote it; differences between two executions by
//the / same subcommand, with measurements of the run itself; and both.
inline const std::set<std::string> k_of_the_verb = {"run.journal", "run.mode"};
inline const std::set<std::string> k_of_the_execution = {"run.journal",         "run.process",    "run.parent",
                                                         "run.started_unix_ns", "object.address", "coverage",
                                                         "coverage_code",       "coverage_object"};
inline const std::set<std::string> k_of_both = [] {
  auto both = k_of_the_execution;
  both.insert(k_of_the_verb.begin(), k_of_the_verb.end());
  return both;
}();

/// Every row of every table, without the tables ("note") and columns ("run.journal") in `left_out`.
inline std::vector<std::string> dump_store(const std::string& path, const std::set<std::string>& left_out) {
  sqlite3* store = nullptr;
  if (sqlite3_open_v2(path.c_str(), &store, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    throw std::runtime_error("cannot read " + path);
  std::vector<std::string> tables, rows;
  for (detail::Query query(store, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
       query.step();)
    tables.push_back(query.value(0));
  for (const auto& table : tables) {
    if (left_out.contains(table)) continue;
    for (detail::Query query(store, "SELECT * FROM " + table); query.step();) {
      auto row = table;
      for (int i = 0; i < query.columns(); ++i)
        if (!left_out.contains(table + "." + query.name(i))) row += " " + query.name(i) + "=" + query.value(i);
      rows.push_back(std::move(row));
    }
  }
  sqlite3_close(store);
  return rows;
}

}  // namespace terrace::test
