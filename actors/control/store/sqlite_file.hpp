// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace troupe {

/// One SQL statement, prepared, with its values. Belongs to the file that made it.
class SqliteStatement {
 public:
  SqliteStatement& bind(std::string_view text);
  SqliteStatement& bind(std::int64_t number);

  /// Goes to the next row; false where there is none.
  [[nodiscard]] Result<bool> row();
  /// Runs it to its end.
  [[nodiscard]] Result<void> run();
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t number(int column) const;

 private:
  friend class SqliteFile;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  explicit SqliteStatement(const class SqliteFile& file) : file_(&file) {}

  const SqliteFile* file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
  int prepared_ = 0;  // what preparing said
};

/// An SQLite file of ours, open for one thread at a time: only its user may read it, its contents
/// are ours and whole, and what a transaction has written survives this process and a power cut.
class SqliteFile {
 public:
  /// What makes the file one of ours, and how it is made.
  struct Format {
    std::int32_t application = 0;  ///< SQLite's application_id
    std::int32_t version = 0;      ///< SQLite's user_version
    const char* schema = "";       ///< makes an empty file into one of this version
  };

  /// Makes file and folder where they are missing. The errors name the file and the way out.
  [[nodiscard]] static Result<std::unique_ptr<SqliteFile>> open(const std::filesystem::path& path,
                                                                const Format& format);

  /// Runs `work` in a transaction that no other process interrupts; keeps what it did only where
  /// it succeeds.
  template <class T>
  [[nodiscard]] Result<T> transact(const std::function<Result<T>()>& work) {
    if (auto begun = begin(); !begun) return Failure(begun.error());
    auto result = work();
    if (!result) {
      roll_back();
      return result;
    }
    if (auto kept = commit(); !kept) return Failure(kept.error());
    return result;
  }

  [[nodiscard]] SqliteStatement prepare(const char* sql) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  friend class SqliteStatement;
  struct Close {
    void operator()(sqlite3* database) const;
  };

  explicit SqliteFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> commit();
  void roll_back();
  [[nodiscard]] Result<void> configure();
  [[nodiscard]] Result<void> adopt(const Format& format);
  [[nodiscard]] Result<std::int64_t> number_of(const char* sql) const;
  [[nodiscard]] Failure failure(int code) const;

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace troupe
