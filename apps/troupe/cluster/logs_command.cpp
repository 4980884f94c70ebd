// SPDX-License-Identifier: Apache-2.0
//
// Logs are asked of the cluster; where no node runs here, or none has them, they are read from this
// user's $TROUPE_HOME, so they can be looked at when the job has ended.
#include "actors/base/logfmt.hpp"
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/cluster/log_merge.hpp"
#include "apps/troupe/cluster/log_source.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/run_directory.hpp"
#include "apps/troupe/host/signals.hpp"
#include "apps/troupe/json.hpp"
#include "messages/reflect.hpp"

#include <cstdio>
#include <set>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t most_logs = 1000;  // that are read at once
constexpr auto look_again = Millis(300);
constexpr int looks_between_lists = 7;

std::string to_json_line(const std::string& actor, const std::string& line) {
  Json::Object object = {{"actor", actor}};
  if (!logfmt_value(line, "level")) {
    object.emplace_back("msg", line);
    return to_text(Json(object));
  }
  for (const auto* key : {"ts", "level", "node", "trace", "msg"}) {
    if (auto value = logfmt_value(line, key)) object.emplace_back(key, std::move(*value));
  }
  return to_text(Json(object));
}

/// Reads logs to their ends, again and again, and prints their lines in the order of time.
class Reader {
 public:
  Reader(const LogsOptions& options, std::unique_ptr<LogSource> source)
      : options_(options), source_(std::move(source)) {}

  /// Finds the logs; again, those that came since.
  Result<LogStore::Listing> find() {
    auto listing = source_->list(options_.target, run_.empty() ? options_.run : run_);
    if (!listing) return listing;
    run_ = listing->run;
    for (const auto& actor : listing->actors) {
      if (logs_.size() >= most_logs) break;
      if (known_.insert(actor).second) {
        logs_.push_back({actor, run_, 0, options_.since_ms});
        merge_.add_log();
      }
    }
    if (listing->actors.size() > most_logs && !std::exchange(told_, true)) {
      std::fprintf(stderr, "there are %zu logs; these are the first %zu\n", listing->actors.size(),
                   most_logs);
    }
    return listing;
  }

  /// Prints all that is there now. `last`: nothing will follow.
  Result<void> print_all(bool last) {
    for (std::size_t i = 0; i < logs_.size(); ++i) merge_.add(i, {});
    while (true) {
      while (merge_.wants()) {
        if (auto filled = fill(last); !filled) return filled;
      }
      const auto line = merge_.next();
      if (!line) return {};
      show(logs_[line->log].actor, line->text);
    }
  }

  /// From now on from here: the logs are the same.
  void move_to(std::unique_ptr<LogSource> source) { source_ = std::move(source); }

 private:
  /// More of every log that is wanted.
  Result<void> fill(bool last) {
    std::vector<std::size_t> which;
    std::vector<LogSource::Want> wants;
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      if (!merge_.wants(i)) continue;
      which.push_back(i);
      wants.push_back(logs_[i]);
    }
    auto parts = source_->read(wants);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) return fail_at(wants[i].actor, parts[i].error());
      logs_[which[i]].offset = parts[i]->next;
      merge_.add(which[i], parts[i]->text);
      if (!parts[i]->text.empty()) continue;
      last ? merge_.finish(which[i]) : merge_.pause(which[i]);
    }
    return {};
  }

  void show(const std::string& actor, const std::string& line) const {
    print((options_.output == Output::json ? to_json_line(actor, line) : line) + "\n");
  }

  const LogsOptions& options_;
  std::unique_ptr<LogSource> source_;
  std::string run_;
  std::set<std::string> known_;
  std::vector<LogSource::Want> logs_;
  LogMerge merge_;
  bool told_ = false;
};

Error nothing(LogSource& source, const LogsOptions& options, const LogStore::Listing& listing) {
  if (listing.run.empty()) {
    const auto run = options.run.empty() ? std::string() : " of run " + options.run;
    if (listing.jobs.empty()) {
      return {ErrorCode::not_found,
              "no logs of " + options.target + run + ", nor of any other job"};
    }
    const auto job = job_of(full_path(options.target));
    return {ErrorCode::not_found,
            "no logs" + run + " of a job '" + job + "'" + did_you_mean(job, listing.jobs)};
  }
  const auto all = source.list(listing.job, listing.run);
  return {ErrorCode::not_found,
          "no log of " + full_path(options.target) +
              (all ? did_you_mean(full_path(options.target), all->actors) : std::string())};
}

std::unique_ptr<LogSource> files_here() {
  auto home = troupe_home();
  return home ? make_file_source(std::move(*home)) : nullptr;
}

/// The source that has the logs; the cluster before the files.
struct Found {
  std::unique_ptr<LogSource> source;
  bool from_cluster = false;
};
Result<Found> find_source(const LogsOptions& options) {
  auto client = ClusterClient::open(options.cluster);
  const bool none = !client && client.error().code == ErrorCode::not_found;
  if (!client && (!none || options.cluster.connect || !options.cluster.node.empty())) {
    return Failure(client.error());
  }
  std::unique_ptr<LogSource> cluster;
  LogStore::Listing listing;
  if (client) {
    cluster = make_cluster_source(std::move(*client));
    auto listed = cluster->list(options.target, options.run);
    if (!listed) return Failure(listed.error());
    if (!listed->actors.empty()) return Found{std::move(cluster), true};
    listing = std::move(*listed);
  }
  auto files = options.cluster.connect ? nullptr : files_here();
  if (files) {
    auto listed = files->list(options.target, options.run);
    if (!listed) return Failure(listed.error());
    if (!listed->actors.empty()) return Found{std::move(files), false};
    if (listing.run.empty()) {
      listed->jobs.insert(listed->jobs.end(), listing.jobs.begin(), listing.jobs.end());
      return Failure(nothing(*files, options, *listed));
    }
  }
  return Failure(nothing(*cluster, options, listing));
}

/// Prints what comes until a signal ends it or the node is gone.
Result<void> follow(Reader& reader, const LogsOptions& options) {
  const Signals signals;
  const WakeUp nobody;
  for (int look = 1;; ++look) {
    std::fflush(stdout);
    if (signals.wait(nobody, look_again)) return {};
    Result<void> read = reader.print_all(false);
    if (read && look % looks_between_lists == 0) {
      if (auto found = reader.find(); !found) read = Failure(found.error());
    }
    if (read) continue;
    // Its node is gone, and with it the job; what it wrote last may lie here.
    auto files = options.cluster.connect ? nullptr : files_here();
    if (!files || !files->list(options.target, options.run)) return read;
    std::fprintf(stderr, "%s; the rest is read from this machine\n", read.error().what.c_str());
    reader.move_to(std::move(files));
    return reader.print_all(true);
  }
}

}  // namespace

int logs_command(const LogsOptions& options) {
  auto found = find_source(options);
  if (!found) return complain("logs", found.error());
  const bool follows = options.follow && found->from_cluster;
  Reader reader(options, std::move(found->source));
  const auto listing = reader.find();
  if (!listing) return complain("logs", listing.error());
  if (options.output == Output::name) {
    for (const auto& actor : listing->actors) print(actor + "\n");
    return 0;
  }
  auto read = reader.print_all(!follows);
  if (read && follows) read = follow(reader, options);
  if (!read) return complain("logs", read.error());
  return 0;
}

}  // namespace troupe
