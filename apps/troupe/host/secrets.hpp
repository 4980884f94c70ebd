// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <string>

namespace troupe {

/// The cluster secret for a node that listens on `listen` and perhaps joins others: from `file`
/// where one is named; else, on loopback only, from $TROUPE_HOME/.secret, which is made at the
/// first use, so that nodes of one user on one machine find each other. A public address without a
/// file is refused.
[[nodiscard]] Result<ClusterSecret> find_secret(const std::string& file, const Address& listen);

}  // namespace troupe
