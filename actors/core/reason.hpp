// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/node.capnp.h"
#include "messages/result.hpp"

#include <caf/error.hpp>

#include <string>

namespace caf {
class scheduled_actor;
}

namespace troupe {

/// Our errors as CAF carries them: in exit reasons, in replies. The text stays whole.
[[nodiscard]] caf::error to_caf(const Error& error);
/// Any CAF error as ours. A normal end is `aborted` with the text "ended normally".
[[nodiscard]] Error from_caf(const caf::error& error);
/// Did the actor end by itself or because it was asked to?
[[nodiscard]] bool is_normal_end(const caf::error& reason);

void write_reason(msg::Reason::Builder to, const caf::error& error);
[[nodiscard]] caf::error read_reason(msg::Reason::Reader from);

/// Makes exceptions of this actor's handlers its exit reason, with their own words as the first
/// cause.
void keep_first_cause(caf::scheduled_actor& actor);

}  // namespace troupe
