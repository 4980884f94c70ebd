// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "messages/app_graph.capnp.h"
#include "messages/result.hpp"

#include <capnp/message.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A graph that was read, checked and can be run. Owns the message that `graph()` reads.
class LoadedGraph {
 public:
  LoadedGraph(std::unique_ptr<capnp::MallocMessageBuilder> message, std::string resolved)
      : message_(std::move(message)), resolved_(std::move(resolved)) {}

  /// Valid while this object lives. Each actor's args are a struct of its kind's schema.
  [[nodiscard]] msg::AppGraph::Reader graph() const {
    return message_->getRoot<msg::AppGraph>().asReader();
  }

  /// The graph as TOML with overrides applied and defaults spelt out, for the run directory.
  [[nodiscard]] const std::string& resolved() const { return resolved_; }

 private:
  std::unique_ptr<capnp::MallocMessageBuilder> message_;
  std::string resolved_;
};

/// Largest graph file.
constexpr std::size_t max_graph_size = 1 << 20;

/// Reads a graph from TOML text, applies the `--set` options in order (graph_set.hpp), fills the
/// schema, and checks it. `name` is what errors call the text. The error's text has one line for
/// each thing that is wrong, `name:line:col: what` or `--set OPTION: what`, twenty at most.
[[nodiscard]] Result<LoadedGraph> parse_graph(std::string_view text, const std::string& name,
                                              const std::vector<std::string>& sets,
                                              const ActorKinds& kinds);

/// The same from a file of at most 1 MiB.
[[nodiscard]] Result<LoadedGraph> load_graph(const std::filesystem::path& file,
                                             const std::vector<std::string>& sets,
                                             const ActorKinds& kinds);

}  // namespace troupe
