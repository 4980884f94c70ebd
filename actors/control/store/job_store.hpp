// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/lease.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class JobState : std::uint8_t { submitted, running, stopping, done, failed, cancelled };

[[nodiscard]] std::string_view to_string(JobState state);

/// Where an actor of a job was started.
struct JobPlace {
  std::string path;  ///< "/jobs/digits/trainers/0"
  std::string node;  ///< the name of its host node

  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

/// A job, as the control node that takes it over needs to know it.
struct Job {
  std::string name;
  std::string graph;          ///< TOML, as resolved
  std::string run_directory;  ///< empty until it runs
  JobState state = JobState::submitted;
  std::string reason;         ///< why it failed or was cancelled
  Generation generation = 0;  ///< of the lease under which it was last written
  std::vector<JobPlace> places;

  friend bool operator==(const Job&, const Job&) = default;
};

struct StoredJob {
  Job job;
  Revision revision = 0;

  friend bool operator==(const StoredJob&, const StoredJob&) = default;
};

/// The jobs of a cluster in a store, under "jobs/NAME". Only the holder of a lease writes: its
/// fence is part of every change, and its generation is written into the job. Errors as Store's,
/// with the job's name. As a Store, for one thread at a time.
class JobStore {
 public:
  /// `store` outlives it.
  explicit JobStore(Store& store) : store_(store) {}

  /// Fails with `already_exists` where there is a job of that name.
  [[nodiscard]] Result<StoredJob> add(Job job, const Fence& fence);
  /// `not_found` where there is none.
  [[nodiscard]] Result<StoredJob> get(const std::string& name);
  /// Replaces what `changed` was read as; somebody else's change since is `already_exists`.
  [[nodiscard]] Result<StoredJob> update(StoredJob changed, const Fence& fence);
  [[nodiscard]] Result<void> remove(const StoredJob& job, const Fence& fence);
  /// All jobs, by name. One record that cannot be read fails it: a control node that overlooked a
  /// job would start it again.
  [[nodiscard]] Result<std::vector<StoredJob>> list();

 private:
  [[nodiscard]] Result<StoredJob> write(Job job, Revision revision, const Fence& fence);

  Store& store_;
};

}  // namespace troupe
