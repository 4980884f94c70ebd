// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace caf {
class actor_system;
}

namespace troupe {

/// Addresses of actors that stay the same while the actors come and go: "/jobs/digits/trainers/2"
/// is whoever lives there now. What is sent while nobody does, because the child is being
/// restarted, waits in a bounded buffer and goes to the next life in the order in which it came.
/// When the buffer is full, and when the child will not come back, requests are answered with an
/// error and other messages are dropped and counted. An address is down when its child will not
/// come back. Supervisors of this node say who lives where. Owned by the node; safe from any
/// thread.
class PathRouter {
 public:
  static constexpr std::size_t default_capacity = 256;

  explicit PathRouter(caf::actor_system& system, std::size_t capacity = default_capacity)
      : system_(system), capacity_(capacity) {}
  ~PathRouter();
  PathRouter(const PathRouter&) = delete;

  /// The address of a path; empty once the node stops. Where no supervisor has spoken of the path,
  /// what is sent waits, as if its child was being started.
  [[nodiscard]] caf::actor at(const std::string& path);
  /// Who lives there now, itself; empty: nobody.
  [[nodiscard]] caf::actor now_at(const std::string& path) const;
  /// How many messages found the buffer full or the child gone.
  [[nodiscard]] std::uint64_t dropped() const;

  // What supervisors say.
  void up(const std::string& path, const caf::actor& actor);
  void down(const std::string& path, const Error& why, bool comes_back);

  /// Ends all addresses, and from now on knows nobody: the node stops.
  void close(const Error& why);

 private:
  [[nodiscard]] caf::strong_actor_ptr make(const std::string& path);

  caf::actor_system& system_;
  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::map<std::string, caf::strong_actor_ptr> addresses_;
  std::map<std::string, caf::actor> living_;
  bool closed_ = false;
  std::uint64_t dropped_ = 0;  ///< of addresses that are no more
};

}  // namespace troupe
