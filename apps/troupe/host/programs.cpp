// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/programs.hpp"

#include "actors/base/fd.hpp"

#include <caf/actor.hpp>  // complete, or nobody can ask whether a kind has a factory
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr const char* this_program = "/proc/self/exe";

bool is_this_program(const std::string& path, const std::string& stands_for) {
  std::error_code error;
  return fs::equivalent(path, this_program, error) || path == stands_for;
}

Failure no_program(const fs::path& path, const std::string& why) {
  return fail(ErrorCode::not_found, "there is no program " + path.string() + ": " + why +
                                        "; build it (cmake --build --preset release), or name "
                                        "another one by the actor's key 'binary'");
}

/// An actor's host in one process; empty: this program.
Result<std::string> host_of(msg::Actor::Reader actor, const ActorKinds& kinds,
                            const std::string& stands_for) {
  const auto* kind = kinds.find(actor.getKind());
  const bool hosted_here = kind != nullptr && kind->spawn;
  const auto program = program_of(actor, kinds);
  if (program.empty() || (hosted_here && actor.getBinary().size() == 0)) return std::string();
  auto path = find_program(program);
  if (path && is_this_program(*path, stands_for)) return std::string();
  return path;
}

}  // namespace

std::string program_of(msg::Actor::Reader actor, const ActorKinds& kinds) {
  if (actor.getBinary().size() > 0) return actor.getBinary().cStr();
  const auto* kind = kinds.find(actor.getKind());
  return kind == nullptr ? std::string() : kind->program;
}

Result<std::string> find_program(const std::string& name) {
  std::error_code error;
  fs::path path = name;
  if (name.find('/') == std::string::npos) {
    path = fs::read_symlink(this_program, error).parent_path() / name;
  }
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return no_program(path, errno_text(error ? error.value() : ENOENT));
  if (!fs::is_regular_file(status)) return no_program(path, "that is no regular file");
  if (::access(path.c_str(), X_OK) != 0) return no_program(path, errno_text(errno));
  return path.string();
}

Result<void> check_programs(msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  for (const auto actor : graph.getActor()) {
    auto program = program_of(actor, kinds);
    if (program.empty()) {
      return fail(ErrorCode::not_found, std::string(actor.getPath()) + ": no program hosts kind '" +
                                            std::string(actor.getKind()) +
                                            "'; name one by the key 'binary'");
    }
    if (auto path = find_program(program); !path) {
      return fail_at(actor.getPath(), path.error());
    }
  }
  return {};
}

Result<std::optional<std::string>> other_host(msg::AppGraph::Reader graph, const ActorKinds& kinds,
                                              const std::string& stands_for) {
  std::optional<std::string> host;
  std::string whose;
  const auto shown = [](const std::string& path) {
    return path.empty() ? std::string("this program") : path;
  };
  for (const auto actor : graph.getActor()) {
    auto path = host_of(actor, kinds, stands_for);
    if (!path) return Failure(path.error());
    if (!host) {
      host = *path;
      whose = std::string(actor.getPath());
    } else if (*host != *path) {
      return fail(ErrorCode::invalid_argument, "one process cannot host this graph: " + whose +
                                                   " needs " + shown(*host) + ", " +
                                                   std::string(actor.getPath()) + " needs " +
                                                   shown(*path) + "; run it without --in-process");
    }
  }
  if (!host || host->empty()) return std::optional<std::string>();
  return host;
}

}  // namespace troupe
