// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease.hpp"

#include <algorithm>

namespace troupe {

Result<void> check_store_key(std::string_view key) {
  if (key.empty()) return fail(ErrorCode::invalid_argument, "a key or lease without a name");
  if (key.size() > max_store_key) {
    return fail(ErrorCode::invalid_argument, "a key of " + std::to_string(key.size()) +
                                                 " characters; at most " +
                                                 std::to_string(max_store_key) + " are allowed");
  }
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    return fail(ErrorCode::invalid_argument,
                "a key is made of printable ASCII characters without blanks");
  }
  return {};
}

Result<void> check_store_value(std::string_view key, std::string_view value) {
  if (value.size() <= max_store_value) return {};
  return fail(ErrorCode::invalid_argument,
              std::string(key) + ": a value of " + std::to_string(value.size()) +
                  " bytes; a store takes at most " + std::to_string(max_store_value) +
                  ", so keep large data in files and store where they are");
}

Result<void> check_lease(std::string_view name, std::string_view owner, Millis ttl) {
  if (auto ok = check_store_key(name); !ok) return ok;
  if (auto ok = check_store_key(owner); !ok) return fail_at("owner", ok.error());
  if (ttl >= min_lease_ttl && ttl <= max_lease_ttl) return {};
  return fail(ErrorCode::invalid_argument, "lease '" + std::string(name) + "' for " +
                                               std::to_string(ttl.count()) +
                                               " ms; 1 s to 1 h are allowed");
}

Failure lease_is_held(const std::string& name, const LeaseHolder& by) {
  return fail(ErrorCode::already_exists, "lease '" + name + "' is held by " + by.owner +
                                             " (generation " + std::to_string(by.generation) + ")");
}

Failure lease_is_lost(const Fence& fence, const std::optional<LeaseHolder>& now) {
  return fail(
      ErrorCode::aborted,
      "lease '" + fence.lease + "' of generation " + std::to_string(fence.generation) +
          " is not held any more; now " +
          (now ? now->owner + " holds it (generation " + std::to_string(now->generation) + ")"
               : std::string("nobody holds it")));
}

Failure key_has_changed(const std::string& key, Revision expected, Revision found) {
  const auto words = [](Revision revision) {
    return revision == 0 ? std::string("not there") : "at revision " + std::to_string(revision);
  };
  return fail(ErrorCode::already_exists,
              key + ": was to be " + words(expected) + " and is " + words(found));
}

}  // namespace troupe
