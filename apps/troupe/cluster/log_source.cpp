// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/log_source.hpp"

#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/cluster/picture.hpp"
#include "messages/control.capnp.h"

#include <algorithm>
#include <map>
#include <set>

namespace troupe {
namespace {

constexpr std::uint32_t part_bytes = 64 << 10;

class FileSource final : public LogSource {
 public:
  explicit FileSource(std::filesystem::path home) : store_(std::move(home)) {}

  Result<LogStore::Listing> list(const std::string& target, const std::string& run) override {
    return store_.list(target, run, {}, most_actors);
  }
  std::vector<Result<LogStore::Part>> read(const std::vector<Want>& wants) override {
    std::vector<Result<LogStore::Part>> parts;
    for (const auto& want : wants) {
      parts.push_back(store_.read(want.actor, want.run, want.offset, part_bytes, want.since_ms));
    }
    return parts;
  }

 private:
  LogStore store_;
};

/// What one node has.
struct NodeLogs {
  std::string node;  ///< "name/incarnation"
  std::string store;
  LogStore::Listing listing;
};

class ClusterSource final : public LogSource {
 public:
  explicit ClusterSource(std::shared_ptr<ClusterClient> client) : client_(std::move(client)) {}

  Result<LogStore::Listing> list(const std::string& target, const std::string& run) override;
  std::vector<Result<LogStore::Part>> read(const std::vector<Want>& wants) override;

 private:
  [[nodiscard]] Result<std::vector<std::string>> nodes();
  [[nodiscard]] Result<NodeLogs> list_of(const std::string& node, const std::string& target,
                                         const std::string& run);

  std::shared_ptr<ClusterClient> client_;
  std::map<std::string, std::string> node_of_;  ///< by actor, of the last listing
};

Result<std::vector<std::string>> ClusterSource::nodes() {
  const auto picture = take_picture(*client_, {"/nodes", false});
  if (!picture) return Failure(picture.error());
  std::vector<std::string> all;
  for (const auto& node : picture->nodes) {
    if (node.state != "no answer") all.push_back(to_string(node.id));
  }
  return all;
}

Result<NodeLogs> ClusterSource::list_of(const std::string& node, const std::string& target,
                                        const std::string& run) {
  NodeLogs logs;
  logs.node = node;
  do {
    const auto answer = client_->ask<msg::LogFiles>(Msg<msg::LogList>::build([&](auto b) {
      b.setNode(node);
      b.setPath(target);
      b.setRun(run);
      b.setAfter(logs.listing.next);
    }));
    if (!answer) return Failure(answer.error());
    auto view = answer->read();
    logs.store = view->getStore();
    logs.listing.job = view->getJob();
    logs.listing.run = view->getRun();
    logs.listing.next = view->getNext();
    for (const auto actor : view->getActors()) logs.listing.actors.emplace_back(actor);
    for (const auto job : view->getJobs()) logs.listing.jobs.emplace_back(job);
  } while (!logs.listing.next.empty());
  return logs;
}

/// The last run of all nodes' last runs, and every actor that any of them has of it.
Result<LogStore::Listing> ClusterSource::list(const std::string& target, const std::string& run) {
  const auto asked = nodes();
  if (!asked) return Failure(asked.error());
  std::vector<NodeLogs> found;
  std::set<std::string> stores;
  for (const auto& node : *asked) {
    auto logs = list_of(node, target, run);
    if (!logs && logs.error().code == ErrorCode::invalid_argument) return Failure(logs.error());
    if (logs && stores.insert(logs->store).second) found.push_back(std::move(*logs));
  }
  LogStore::Listing all;
  for (const auto& logs : found) {
    all.job = logs.listing.job;
    all.run = std::max(all.run, logs.listing.run);
    all.jobs.insert(all.jobs.end(), logs.listing.jobs.begin(), logs.listing.jobs.end());
  }
  node_of_.clear();
  for (const auto& logs : found) {
    if (logs.listing.run != all.run) continue;
    for (const auto& actor : logs.listing.actors) node_of_.try_emplace(actor, logs.node);
  }
  for (const auto& [actor, node] : node_of_) all.actors.push_back(actor);
  return all;
}

std::vector<Result<LogStore::Part>> ClusterSource::read(const std::vector<Want>& wants) {
  std::vector<Msg<msg::LogRead>> questions;
  for (const auto& want : wants) {
    questions.push_back(Msg<msg::LogRead>::build([&](auto b) {
      b.setNode(node_of_[want.actor]);
      b.setActor(want.actor);
      b.setRun(want.run);
      b.setOffset(want.offset);
      b.setLimit(part_bytes);
      b.setSinceMs(want.since_ms);
    }));
  }
  std::vector<Result<LogStore::Part>> parts;
  for (const auto& answer : client_->ask_all<msg::LogPart>(std::move(questions))) {
    if (!answer) {
      parts.push_back(Failure(answer.error()));
      continue;
    }
    auto view = answer->read();
    const auto text = view->getText();
    parts.push_back(LogStore::Part{{reinterpret_cast<const char*>(text.begin()), text.size()},
                                   view->getNext(),
                                   view->getSize()});
  }
  return parts;
}

}  // namespace

std::unique_ptr<LogSource> make_file_source(std::filesystem::path home) {
  return std::make_unique<FileSource>(std::move(home));
}

std::unique_ptr<LogSource> make_cluster_source(std::shared_ptr<ClusterClient> client) {
  return std::make_unique<ClusterSource>(std::move(client));
}

}  // namespace troupe
