// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/placement.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The life of one actor that a host has launched for somebody.
struct HostedLife {
  enum class Phase { starting, up, ending };

  std::string path;
  std::uint64_t life = 0;
  std::string node_name;  ///< of its own node, without equal on this host
  std::string owner;      ///< who launched or adopted it
  Resources takes;
  Phase phase = Phase::starting;
  bool orphan = false;
  ActorRef actor;
  int pid = 0;
};

/// What a host keeps of the lives that it has launched: who may launch, end and adopt what, what is
/// free, and when an orphan's time is over. A value without clock and processes; the host actor
/// owns it.
class HostTable {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Settings {
    std::string host;  ///< its name, for errors
    std::vector<std::string> labels;
    Resources total;
    std::chrono::milliseconds orphan_time{60000};
    std::chrono::milliseconds stop_time{3000};  ///< from SIGTERM to SIGKILL
    std::size_t most_lives = 1024;
  };
  struct Request {
    std::string path;
    std::uint64_t life = 0;
    std::string node_name;
    std::string owner;
    Resources takes;
  };
  /// What to do to the process of a path.
  struct Order {
    std::string path;
    bool kill = false;  ///< SIGKILL, else SIGTERM

    friend bool operator==(const Order&, const Order&) = default;
  };

  explicit HostTable(Settings settings) : settings_(std::move(settings)) {}

  /// Takes up a life that is to be started; gives the name of its node. An orphan of the same path
  /// must be ended before (see orphan_at). Errors: the path lives here for somebody, it does not
  /// fit, the host is draining.
  [[nodiscard]] Result<std::string> launch(const Request& request);
  [[nodiscard]] bool orphan_at(const std::string& path) const;

  [[nodiscard]] const HostedLife* find(const std::string& path) const;
  [[nodiscard]] const HostedLife* find_node(const std::string& node_name) const;
  [[nodiscard]] std::vector<const HostedLife*> below(std::string_view path) const;

  void started(const std::string& path, int pid);
  void up(const std::string& path, const ActorRef& actor);
  /// The process is gone, or was never there.
  void ended(const std::string& path);

  /// `owner` wants that life ended. Nothing: it is not here, or another's that is not gone; the
  /// number of a life is unique for one owner only, so a late word of a former one may fit it.
  [[nodiscard]] std::optional<Order> end(const std::string& path, std::uint64_t life, bool kill,
                                         const std::string& owner, Time now);
  /// Errors: it is not here, it has not come up, it has an owner that is not gone.
  [[nodiscard]] Result<HostedLife> adopt(const std::string& path, std::uint64_t life,
                                         const std::string& owner);
  void owner_gone(const std::string& owner, Time now);

  /// What is due: orphans whose time is over, and those that did not end when they were asked to.
  [[nodiscard]] std::vector<Order> due(Time now);
  [[nodiscard]] std::optional<Time> wake() const;

  /// From now on nothing is launched; what lives goes on.
  void drain() { draining_ = true; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Resources free() const;
  [[nodiscard]] bool empty() const { return lives_.empty(); }

 private:
  struct Entry : HostedLife {
    std::optional<Time> ends_at;  ///< an orphan's time is over
    std::optional<Time> kill_at;
  };

  Settings settings_;
  std::map<std::string, Entry> lives_;  ///< by path
  std::uint64_t launches_ = 0;
  bool draining_ = false;
};

}  // namespace troupe
