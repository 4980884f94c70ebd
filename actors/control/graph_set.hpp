// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/toml_tree.hpp"
#include "messages/result.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Applies `--set TARGET.KEY[.KEY]...=VALUE` to a graph's document. TARGET is `app`, the path of an
/// actor, the path of a supervisor, or `supervisor` for the root supervisor, which is added where
/// the graph does not mention it. VALUE is TOML; what is no TOML value is taken as a text, so that
/// `app.name=digits` needs no quotes within quotes. Whether the keys exist and the values fit is
/// seen when the document is read into the schema. The error begins with the option.
[[nodiscard]] Result<void> apply_set(TomlNode& document, const std::string& option);

/// Applies several, in order; a later one wins. At most 1,000.
[[nodiscard]] Result<void> apply_sets(TomlNode& document, const std::vector<std::string>& options);

}  // namespace troupe
