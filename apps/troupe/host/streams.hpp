// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// Opens /dev/null in place of those of the descriptors 0, 1 and 2 that are closed, so that no
/// other file lands there. The first thing that a program does.
void open_missing_streams();

/// What a failed write to stdout is called: "standard output (/dev/full)".
[[nodiscard]] std::string stdout_name();

/// Writes what stdout still holds; an error where not all of it arrived.
[[nodiscard]] Result<void> finish_stdout();

/// A file to which lines are written as they come. Remembers the first failure and writes nothing
/// after it.
class LineFile {
 public:
  /// Truncates the file or makes it.
  [[nodiscard]] static LineFile open(const std::filesystem::path& path);
  /// The one way to stdout from now on: libraries that print to it (UCX warns there) find stderr
  /// in its place.
  [[nodiscard]] static LineFile take_stdout();

  /// False where this is the write that failed.
  bool write(std::string_view line);
  [[nodiscard]] const Result<void>& status() const { return status_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LineFile(std::FILE* file, std::string name);
  void note_failure(int error);

  std::unique_ptr<std::FILE, Close> file_;
  std::string name_;
  Result<void> status_;
};

}  // namespace troupe
