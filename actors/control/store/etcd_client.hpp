// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "messages/units.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// How long one member may take before another is asked, and how long all may take together. Two
/// attempts fit between the first renewal of a lease of 5 s and the time when its holder must stop.
struct EtcdLimits {
  Millis attempt{1000};
  Millis total{3000};
};

/// Asks the members of an etcd cluster through their HTTP/JSON gateway. Calls block, never longer
/// than `limits.total`; for one thread at a time. Starts with the member that answered last; one
/// that does not answer, or says that it has no leader, is followed by the next.
class EtcdClient {
 public:
  /// Whether a request that may have been carried out already may be sent to another member. One
  /// that may not has all the time for its one answer.
  enum class Again { yes, no };

  explicit EtcdClient(std::vector<Address> members, EtcdLimits limits = {});
  ~EtcdClient();

  /// `path`: "/v3/kv/range". Where no member answers, the error says what was tried and why each
  /// failed; what etcd refuses keeps etcd's words.
  [[nodiscard]] Result<nlohmann::json> post(const std::string& path, const nlohmann::json& body,
                                            Again again);

 private:
  struct Io;

  std::vector<Address> members_;
  EtcdLimits limits_;
  std::size_t first_ = 0;
  std::unique_ptr<Io> io_;
};

}  // namespace troupe
