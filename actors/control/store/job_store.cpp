// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/job_store.hpp"

#include "actors/control/store/stored_record.hpp"
#include "actors/core/message.hpp"
#include "messages/ids.hpp"
#include "messages/store.capnp.h"

#include <kj/exception.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint32_t format = 1;
const std::string prefix = "jobs/";

constexpr std::array<std::string_view, 6> state_words = {"submitted", "running", "stopping",
                                                         "done",      "failed",  "cancelled"};

std::string encode(const Job& job) {
  const auto message = Msg<msg::StoredJob>::build([&](msg::StoredJob::Builder to) {
    to.setName(job.name);
    to.setGraph(job.graph);
    to.setRunDirectory(job.run_directory);
    to.setState(static_cast<msg::StoredJobState>(job.state));
    to.setReason(job.reason);
    to.setGeneration(job.generation);
    auto places = to.initPlaces(static_cast<unsigned>(job.places.size()));
    for (unsigned i = 0; i < places.size(); ++i) {
      places[i].setPath(job.places[i].path);
      places[i].setNode(job.places[i].node);
    }
  });
  const auto bytes = message.body().bytes();
  return wrap_record(format, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Throws kj::Exception where the body is no job.
Result<Job> decode_body(const std::string& body) {
  const Slice slice = Slice::own(
      std::vector<std::byte>(reinterpret_cast<const std::byte*>(body.data()),
                             reinterpret_cast<const std::byte*>(body.data() + body.size())));
  MessageView<msg::StoredJob> from(slice.bytes());
  const auto state = static_cast<std::size_t>(from->getState());
  if (state >= state_words.size()) {
    return fail(ErrorCode::version_mismatch,
                "is in state " + std::to_string(state) + ", which this program does not know");
  }
  Job job{from->getName(),
          from->getGraph(),
          from->getRunDirectory(),
          static_cast<JobState>(state),
          from->getReason(),
          from->getGeneration(),
          {}};
  for (const auto place : from->getPlaces())
    job.places.push_back({place.getPath(), place.getNode()});
  return job;
}

Result<StoredJob> decode(const StoreEntry& entry) {
  const auto name = entry.key.substr(prefix.size());
  const auto place = "job '" + name + "' in the store";
  auto body = unwrap_record(format, entry.value);
  if (!body) return fail_at(place, body.error());
  try {
    auto job = decode_body(*body);
    if (!job) return fail_at(place, job.error());
    if (job->name != name) {
      return fail(ErrorCode::corrupt, place + ": the record is that of job '" + job->name + "'");
    }
    return StoredJob{std::move(*job), entry.revision};
  } catch (const kj::Exception& error) {
    return fail(ErrorCode::corrupt, place + ": not a job: " + error.getDescription().cStr());
  }
}

}  // namespace

std::string_view to_string(JobState state) {
  return state_words.at(static_cast<std::size_t>(state));
}

Result<StoredJob> JobStore::add(Job job, const Fence& fence) {
  return write(std::move(job), 0, fence);
}

Result<StoredJob> JobStore::get(const std::string& name) {
  auto entry = store_.get(prefix + name);
  if (!entry) return fail_at("job '" + name + "'", entry.error());
  if (!*entry) return fail(ErrorCode::not_found, "there is no job '" + name + "'");
  return decode(**entry);
}

Result<StoredJob> JobStore::update(StoredJob changed, const Fence& fence) {
  return write(std::move(changed.job), changed.revision, fence);
}

Result<void> JobStore::remove(const StoredJob& job, const Fence& fence) {
  auto done = store_.erase(prefix + job.job.name, {job.revision, fence});
  if (!done) return fail_at("job '" + job.job.name + "'", done.error());
  return {};
}

Result<std::vector<StoredJob>> JobStore::list() {
  std::vector<StoredJob> jobs;
  std::string last;
  for (bool more = true; more;) {
    auto page = store_.list(prefix, last, max_store_page);
    if (!page) return fail_at("the list of jobs", page.error());
    for (const auto& entry : page->entries) {
      auto job = decode(entry);
      if (!job) return Failure(job.error());
      jobs.push_back(std::move(*job));
      last = entry.key;
    }
    more = page->more;
  }
  return jobs;
}

Result<StoredJob> JobStore::write(Job job, Revision revision, const Fence& fence) {
  if (!is_node_name(job.name)) {
    return fail(ErrorCode::invalid_argument,
                "job '" + job.name + "': a name is letters, digits, '.', '_' and '-'");
  }
  job.generation = fence.generation;
  auto written = store_.put(prefix + job.name, encode(job), {revision, fence});
  if (!written) return fail_at("job '" + job.name + "'", written.error());
  return StoredJob{std::move(job), *written};
}

}  // namespace troupe
