// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/remote/remote_actors.hpp"
#include "messages/units.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How a node gets into its cluster: it calls the given nodes, once more after a pause if none of
/// them can be reached, and gives up after some tries or when more tries cannot help. Values only;
/// owned by the node command.
class Joining {
 public:
  static constexpr unsigned usual_tries = 4;
  static constexpr Millis first_pause{500};
  static constexpr Millis longest_pause{8000};

  /// `tries`: nothing for as many as it takes. Without addresses there is nothing to join.
  Joining(std::vector<Address> to, std::optional<unsigned> tries)
      : to_(std::move(to)), tries_(tries) {}

  struct Next {
    std::optional<std::string> give_up;  ///< why
    std::optional<Millis> again;         ///< call all of them again after this pause
  };
  [[nodiscard]] const std::vector<Address>& to() const { return to_; }
  void on(const PeerUp& up);
  [[nodiscard]] Next on(const ConnectFailed& failed);

 private:
  std::vector<Address> to_;
  std::optional<unsigned> tries_;
  bool joined_ = false;
  unsigned tried_ = 0;
  std::map<Address, Error> failed_;  ///< in this try
};

}  // namespace troupe
