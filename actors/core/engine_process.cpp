// SPDX-License-Identifier: Apache-2.0
#include "actors/core/engine_process.hpp"

#include "actors/base/fd.hpp"

#include <unistd.h>

namespace troupe {
namespace {

/// A descriptor from which the secret can be read once.
Result<Fd> secret_file(const std::string& secret) {
  auto fd = make_memfd("troupe-secret");
  if (!fd) return fd;
  if (::write(fd->get(), secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()) ||
      ::lseek(fd->get(), 0, SEEK_SET) != 0) {
    return fail(ErrorCode::resource_exhausted, "cannot write the secret's memory file");
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<Process>> start_engine(Launcher& launcher, const EngineProcess& engine,
                                              std::function<void(const std::string& how)> on_end) {
  auto secret = secret_file(engine.secret);
  if (!secret) return Failure(secret.error());
  ProcessSpec spec;
  spec.binary = engine.binary;
  spec.arguments = {"node",
                    "--name",
                    engine.node_name,
                    "--listen",
                    to_string(Address{engine.host.host, 0}),
                    "--join",
                    to_string(engine.host),
                    "--secret-fd",
                    "3",
                    "--launched"};
  if (engine.encrypt) spec.arguments.emplace_back("--encrypt");
  spec.environment = engine.environment;
  spec.descriptors = {secret->get()};
  if (engine.state_fd >= 0) {
    spec.descriptors.push_back(engine.state_fd);
    spec.environment.emplace_back("TROUPE_STATE_FD", "4");
  }
  spec.log = engine.log;
  return launcher.start(spec, std::move(on_end));
}

Error with_log(Error why, const std::filesystem::path& log, bool by_itself) {
  const auto line = by_itself ? last_complaint(log) : std::string();
  if (!line.empty()) why.what += "; the last line of its log: " + line;
  if (!log.empty()) why.what += " (" + log.string() + ")";
  return why;
}

}  // namespace troupe
