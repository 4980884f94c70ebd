// SPDX-License-Identifier: Apache-2.0
//
// A write-ahead log that is synced at the end of each transaction (journal_mode WAL, synchronous
// FULL): a transaction that was reported is on the disk, at the price of one fsync. Whatever is
// wrong with a file is found when it is opened, by a check of all its pages; a store is small.
#include "actors/control/store/sqlite_file.hpp"

#include "actors/base/fd.hpp"
#include "messages/units.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace troupe {
namespace {

constexpr Millis lock_wait{2000};
constexpr Millis lock_look{2};

/// Another process has the file locked. SQLite's own way of waiting sleeps longer and longer, so
/// that a process which writes all the time locks others out.
int wait_for_lock(void*, int times) {
  if (times * lock_look >= lock_wait) return 0;
  std::this_thread::sleep_for(lock_look);
  return 1;
}

/// File systems whose locks and clocks belong to several machines (statfs's f_type).
constexpr std::array<unsigned long, 8> network_file_systems = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x01021997,  // 9P
    0x00c36400,  // Ceph
    0x0bd00bd0,  // Lustre
    0x01161970,  // GFS 2
    0x5346414f,  // AFS
};

Failure cannot(const std::filesystem::path& path, const std::string& what) {
  const int error = errno;
  return fail(error == EACCES || error == EROFS ? ErrorCode::permission_denied
              : error == ENOSPC                 ? ErrorCode::resource_exhausted
                                                : ErrorCode::unavailable,
              path.string() + ": " + what + ": " + errno_text(error));
}

/// Only this user may read or write it.
Result<void> check_private(const std::filesystem::path& path, const char* mode) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return cannot(path, "cannot look at it");
  if (status.st_uid != ::geteuid()) {
    return fail(ErrorCode::permission_denied,
                path.string() + ": belongs to user " + std::to_string(status.st_uid) +
                    ", and this is user " + std::to_string(::geteuid()));
  }
  if ((status.st_mode & 077) != 0) {
    return fail(ErrorCode::permission_denied,
                path.string() + ": others may use it; run: chmod " + mode + " " + path.string());
  }
  return {};
}

Result<void> check_local(const std::filesystem::path& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return cannot(folder, "cannot look at it");
  const auto type = static_cast<unsigned long>(system.f_type) & 0xffffffffUL;
  if (std::find(network_file_systems.begin(), network_file_systems.end(), type) ==
      network_file_systems.end()) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              folder.string() +
                  ": is on a network file system, and a store in a file is for one "
                  "machine: name a local folder, or etcd for several machines");
}

/// Makes folder and file where they are missing, and checks whose they are.
Result<void> prepare_place(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return cannot(folder, "cannot make this folder");
    }
  }
  if (auto ok = check_private(folder, "700"); !ok) return ok;
  if (auto ok = check_local(folder); !ok) return ok;
  // Never opened where it is there: closing it would undo SQLite's locks of this process.
  const Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno != EEXIST) return cannot(path, "cannot make this file");
  return check_private(path, "600");
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

SqliteStatement& SqliteStatement::bind(std::string_view text) {
  sqlite3_bind_blob64(statement_.get(), ++bound_, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT);
  return *this;
}

SqliteStatement& SqliteStatement::bind(std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), ++bound_, number);
  return *this;
}

Result<bool> SqliteStatement::row() {
  if (prepared_ != SQLITE_OK) return file_->failure(prepared_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return file_->failure(code);
}

Result<void> SqliteStatement::run() {
  for (;;) {
    auto more = row();
    if (!more) return Failure(more.error());
    if (!*more) return {};
  }
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

std::int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

SqliteStatement SqliteFile::prepare(const char* sql) const {
  SqliteStatement statement(*this);
  sqlite3_stmt* made = nullptr;
  statement.prepared_ = sqlite3_prepare_v2(database_.get(), sql, -1, &made, nullptr);
  statement.statement_.reset(made);
  return statement;
}

Failure SqliteFile::failure(int code) const {
  const auto name = path_.string() + ": ";
  const std::string words = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  const int os_error = database_ ? sqlite3_system_errno(database_.get()) : 0;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return fail(ErrorCode::resource_exhausted,
                  name + "its disk is full, and nothing was changed: make room there");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return fail(ErrorCode::permission_denied,
                  name + "cannot be written (" + words + "): let user " +
                      std::to_string(::geteuid()) +
                      " write this file and its folder, or name another file");
    case SQLITE_NOTADB:
      return fail(ErrorCode::corrupt,
                  name + "is no SQLite file: name another file, or move this one away");
    case SQLITE_CORRUPT:
      return fail(ErrorCode::corrupt,
                  name + "is damaged (" + words +
                      "): put a copy of it back, or move it away to start without the leases and "
                      "jobs that it holds");
    case SQLITE_BUSY:
      return fail(ErrorCode::timeout, name + "another process has kept it locked for " +
                                          std::to_string(lock_wait.count()) +
                                          " ms: look for one that is stopped or hangs");
    default:
      return fail(ErrorCode::unavailable,
                  name + words + (os_error != 0 ? ": " + errno_text(os_error) : std::string()));
  }
}

Result<std::int64_t> SqliteFile::number_of(const char* sql) const {
  auto statement = prepare(sql);
  auto found = statement.row();
  if (!found) return Failure(found.error());
  return *found ? statement.number(0) : 0;
}

Result<void> SqliteFile::configure() {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) return failure(code);
  sqlite3_busy_handler(database, &wait_for_lock, nullptr);
  if (sqlite3_db_readonly(database, "main") == 1) return failure(SQLITE_READONLY);
  for (const char* sql :
       {"PRAGMA trusted_schema = OFF", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"}) {
    if (auto done = prepare(sql).run(); !done) return done;
  }
  return {};
}

/// Within a transaction: makes an empty file one of ours, refuses what is none.
Result<void> SqliteFile::adopt(const Format& format) {
  auto tables = number_of("SELECT count(*) FROM sqlite_schema");
  if (!tables) return Failure(tables.error());
  if (*tables == 0) {
    const auto schema = std::string(format.schema) +
                        ";PRAGMA application_id = " + std::to_string(format.application) +
                        ";PRAGMA user_version = " + std::to_string(format.version);
    const int code = sqlite3_exec(database_.get(), schema.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return failure(code);
    return {};
  }
  auto application = number_of("PRAGMA application_id");
  if (!application) return Failure(application.error());
  if (*application != format.application) {
    return fail(ErrorCode::corrupt, path_.string() +
                                        ": is an SQLite file of another program: name another "
                                        "file, or move this one away");
  }
  auto version = number_of("PRAGMA user_version");
  if (!version) return Failure(version.error());
  if (*version != format.version) {
    return fail(ErrorCode::version_mismatch,
                path_.string() + ": is of format " + std::to_string(*version) +
                    ", and this program knows format " + std::to_string(format.version) +
                    ": use the program that wrote it");
  }
  auto check = prepare("PRAGMA quick_check(1)");
  auto found = check.row();
  if (!found) return Failure(found.error());
  if (check.text(0) != "ok") return failure(SQLITE_CORRUPT);
  return {};
}

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const std::filesystem::path& path,
                                                     const Format& format) {
  if (auto ok = prepare_place(path); !ok) return Failure(ok.error());
  std::unique_ptr<SqliteFile> file(new SqliteFile(path));
  if (auto ok = file->configure(); !ok) return Failure(ok.error());
  auto adopted = file->transact<void>([&] { return file->adopt(format); });
  if (!adopted) return Failure(adopted.error());
  return file;
}

Result<void> SqliteFile::begin() {
  int moved = 0;
  sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved != 0) {
    return fail(ErrorCode::unavailable,
                path_.string() +
                    ": was removed or replaced while it was in use, so others see "
                    "another file: put it back and start this program again");
  }
  return prepare("BEGIN IMMEDIATE").run();
}

Result<void> SqliteFile::commit() {
  auto done = prepare("COMMIT").run();
  if (!done) roll_back();
  return done;
}

void SqliteFile::roll_back() {
  // Fails where SQLite has rolled back by itself already; then all is well too.
  (void)prepare("ROLLBACK").run();
}

}  // namespace troupe
