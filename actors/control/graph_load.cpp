// SPDX-License-Identifier: Apache-2.0
// TOML becomes an AppGraph in four steps: the text becomes a tree with places (toml_tree), options
// are written into the tree (graph_set), the tree is poured into the schema by reflection
// (graph_fill; an actor's args go into the struct that its kind names), and the result is checked
// (graph_check).
#include "actors/control/graph_load.hpp"

#include "actors/control/graph_check.hpp"
#include "actors/control/graph_fill.hpp"
#include "actors/control/graph_set.hpp"
#include "actors/control/graph_text.hpp"

#include <capnp/dynamic.h>
#include <kj/exception.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace troupe {
namespace {

// Fills the args of every actor whose kind is known; check_graph complains of the others.
void fill_args(msg::AppGraph::Builder graph, const TomlTable& document, const ActorKinds& kinds,
               GraphFill& fill, GraphProblems& problems) {
  unsigned index = 0;
  for (auto actor : graph.getActor()) {
    const auto where = "actor[" + std::to_string(index) + "].args";
    const auto& tables = *find_entry(document, "actor")->node.array();
    const auto* args = find_entry(*tables[index++].table(), "args");
    const auto* kind = kinds.find(actor.getKind().cStr());
    if (kind == nullptr) continue;
    auto out = actor.getArgs().initAs<capnp::DynamicStruct>(kind->args);
    if (args == nullptr) continue;
    if (const auto* table = args->node.table()) {
      fill.fill(out, *table, where);
    } else {
      problems.push_back({args->node.place.text(), "expected a table [actor.args], not " +
                                                       std::string(type_name(args->node))});
    }
  }
}

// Names and values of a hostile file end up in errors: nothing in them may steer a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

Failure all_of(const GraphProblems& problems) {
  std::string lines;
  for (const auto& problem : problems) {
    lines += (lines.empty() ? "" : "\n") + printable(problem.place + ": " + problem.what);
  }
  return fail(ErrorCode::invalid_argument, lines);
}

Result<LoadedGraph> build_graph(const TomlNode& document, const std::string& name,
                                const ActorKinds& kinds) {
  auto message = std::make_unique<capnp::MallocMessageBuilder>();
  auto graph = message->initRoot<msg::AppGraph>();
  GraphProblems problems;
  GraphPlaces places(name);
  GraphFill fill(problems, places);
  fill.fill(graph, *document.table(), "");
  if (!problems.empty()) return all_of(problems);
  fill_args(graph, *document.table(), kinds, fill, problems);
  if (problems.empty()) problems = check_graph(graph.asReader(), kinds, places);
  if (!problems.empty()) return all_of(problems);
  auto resolved = graph_text(graph.asReader(), kinds);
  return LoadedGraph(std::move(message), std::move(resolved));
}

Result<std::string> read_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    return fail(ErrorCode::not_found, file.string() + ": no such file");
  }
  if (std::filesystem::is_directory(status)) {
    return fail(ErrorCode::invalid_argument, file.string() + ": is a folder, not a graph file");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(ErrorCode::permission_denied,
                file.string() + ": cannot be opened: " + std::strerror(errno));
  }
  std::string text(max_graph_size + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return fail(ErrorCode::unavailable, file.string() + ": cannot be read");
  return text;
}

}  // namespace

Result<LoadedGraph> parse_graph(std::string_view text, const std::string& name,
                                const std::vector<std::string>& sets, const ActorKinds& kinds) {
  if (text.size() > max_graph_size) {
    return fail(ErrorCode::resource_exhausted, name + ": larger than 1 MiB, which no graph may be");
  }
  auto document = parse_toml(text, name);
  if (!document) return fail(document.error().code, printable(document.error().what));
  if (auto done = apply_sets(*document, sets); !done) {
    return fail(done.error().code, printable(done.error().what));
  }
  try {
    return build_graph(*document, name, kinds);
  } catch (const kj::Exception& fault) {
    return fail(ErrorCode::internal, name + ": " + fault.getDescription().cStr());
  }
}

Result<LoadedGraph> load_graph(const std::filesystem::path& file,
                               const std::vector<std::string>& sets, const ActorKinds& kinds) {
  auto text = read_file(file);
  if (!text) return Failure(text.error());
  return parse_graph(*text, file.string(), sets, kinds);
}

}  // namespace troupe
