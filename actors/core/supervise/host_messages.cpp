// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/host_messages.hpp"

#include "actors/core/kinds.hpp"
#include "actors/core/node.hpp"
#include "messages/wire_ids.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace troupe {
namespace {

constexpr std::size_t max_path = 512;
constexpr std::size_t max_value = 256;

constexpr std::array<std::string_view, 8> variables = {
    "OMP_NUM_THREADS",     "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "UCX_ERROR_SIGNALS",
    "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA",   "MKL_CBWR",          "CUDA_VISIBLE_DEVICES"};

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_log(const std::string& text) {
  const std::filesystem::path path = text;
  return !text.empty() && text.size() <= max_path && is_plain(text) && path.is_relative() &&
         path.has_filename() && std::none_of(path.begin(), path.end(), [](const auto& part) {
           return part == ".." || part == ".";
         });
}

}  // namespace

void register_supervise_messages(ActorKinds& kinds) {
  auto& messages = kinds.messages();
  messages.add<msg::HostQuery>();
  messages.add<msg::HostInfo>();
  messages.add<msg::Launch>();
  messages.add<msg::Launched>();
  messages.add<msg::EndLife>();
  messages.add<msg::LifeEnded>();
  messages.add<msg::ListLaunched>();
  messages.add<msg::Snapshot>();
  messages.add<msg::LaunchedList>();
  messages.add<msg::Adopt>();
}

void write_resources(msg::Resources::Builder to, const Resources& from) {
  to.setCpus(from.cpus);
  to.setMemory(from.memory.count);
  to.setGpu(from.gpu);
}

Resources read_resources(msg::Resources::Reader from) {
  return {from.getCpus(), {from.getMemory()}, from.getGpu()};
}

void write_life(msg::Launched::Builder to, const HostedLife& life) {
  to.setPath(life.path);
  to.setLife(life.life);
  write_ref(to.initActor(), life.actor);
  to.setPid(static_cast<std::uint32_t>(life.pid));
}

void write_spawn(msg::Spawn::Builder to, msg::Spawn::Reader from) {
  to.setKind(from.getKind());
  to.setPath(from.getPath());
  to.setSeed(from.getSeed());
  to.setIndex(from.getIndex());
  to.setCount(from.getCount());
  to.getArgs().set(from.getArgs());
  to.setLife(from.getLife());
  if (from.hasKeeper()) to.setKeeper(from.getKeeper());
}

Msg<msg::Spawn> copy_spawn(msg::Spawn::Reader from, Slice blob) {
  return Msg<msg::Spawn>::build([&](msg::Spawn::Builder to) { write_spawn(to, from); },
                                std::move(blob));
}

void write_kept(msg::Spawn::Builder to, Node& node, const Kept& kept) {
  to.setLife(kept.life);
  if (kept.keeper) write_ref(to.initKeeper(), node.ref(kept.keeper));
}

Kept read_kept(Node& node, const Msg<msg::Spawn>& request) {
  auto view = request.read();
  Kept kept;
  kept.life = view->getLife();
  if (view->hasKeeper()) kept.keeper = node.resolve(read_ref(view->getKeeper()));
  kept.state = copy_of(request.blob());
  return kept;
}

Slice copy_of(const Slice& slice) {
  const auto bytes = slice.bytes();
  return bytes.empty() ? Slice() : Slice::own(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

Result<void> check_launch(msg::Launch::Reader launch) {
  const std::string path = launch.getSpawn().getPath();
  if (path.empty() || path.front() != '/' || path.size() > max_path || !is_plain(path)) {
    return fail(ErrorCode::invalid_argument, "a launch without a path that an actor can have");
  }
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::permission_denied, path + ": " + what);
  };
  const std::string program = launch.getProgram();
  if (program.empty() || program.size() > max_value || !is_plain(program)) {
    return refuse("a program without a name");
  }
  if (program.find('/') != std::string::npos) {
    return refuse("another node may name a program of this one, but no path (" + program +
                  "); put it beside troupe there and name it");
  }
  if (const std::string log = launch.getLog(); !is_log(log)) {
    return refuse("its log must be a relative path of plain names");
  }
  if (std::string_view(launch.getGroup().cStr()).size() > max_path)
    return refuse("a group too long");
  if (launch.getEnvironment().size() > variables.size()) return refuse("too many variables");
  for (const auto variable : launch.getEnvironment()) {
    const std::string_view name = variable.getName().cStr();
    if (std::find(variables.begin(), variables.end(), name) == variables.end()) {
      return refuse("the variable '" + std::string(name.substr(0, max_value)) +
                    "' may not be set by another node");
    }
    if (std::string_view(variable.getValue().cStr()).size() > max_value) {
      return refuse("the value of " + std::string(name) + " is too long");
    }
  }
  return {};
}

Variables read_environment(msg::Launch::Reader launch) {
  Variables result;
  for (const auto variable : launch.getEnvironment()) {
    result.emplace_back(variable.getName(), variable.getValue());
  }
  return result;
}

}  // namespace troupe
