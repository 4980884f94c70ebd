// SPDX-License-Identifier: Apache-2.0
//
// Sockets are bound and called by way of /proc/self/fd/N/PID.sock, because a socket's address has
// room for 107 characters only and folders may have longer names; it also makes sure that the
// folder is the one whose owner and mode were looked at.
#include "actors/control/operate/local_socket.hpp"

#include "messages/control.capnp.h"
#include "messages/wire_ids.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_answer = 16 << 10;
constexpr auto answer_time = std::chrono::milliseconds(500);
constexpr auto straggler_time = std::chrono::milliseconds(150);

/// Opens the folder if it is ours alone.
Result<Fd> open_private(const fs::path& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    const int why = errno;
    return fail(why == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
                folder.string() + ": " + errno_text(why));
  }
  if (info.st_uid != ::geteuid()) {
    return fail(ErrorCode::permission_denied, folder.string() + " belongs to another user");
  }
  if ((info.st_mode & 0077) != 0) {
    return fail(ErrorCode::permission_denied,
                folder.string() + " is open to other users; chmod 700 it");
  }
  return fd;
}

sockaddr_un address_of(int folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

std::string encode(const LocalNode& node) {
  capnp::MallocMessageBuilder message;
  auto to = message.initRoot<msg::LocalNode>();
  to.setName(node.name);
  write_address(to.initControl(), node.control);
  to.setSecret(node.secret);
  to.setEncrypt(node.encrypt);
  to.setPid(static_cast<std::uint32_t>(node.pid));
  to.setVersion(node.version);
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

std::optional<LocalNode> decode(const std::string& bytes) {
  try {
    std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));
    std::memcpy(static_cast<void*>(words.data()), bytes.data(), words.size() * sizeof(words[0]));
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(words.data(), words.size()));
    const auto from = reader.getRoot<msg::LocalNode>();
    return LocalNode{from.getName(),    read_address(from.getControl()), from.getSecret(),
                     from.getEncrypt(), static_cast<int>(from.getPid()), from.getVersion()};
  } catch (const kj::Exception&) {  // decode boundary
    return std::nullopt;
  }
}

bool is_ours(int fd) {
  ucred other{};
  socklen_t size = sizeof other;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == ::geteuid();
}

/// A node that was called, and what it has said so far.
struct Call {
  Fd fd;
  int pid = 0;
  std::string said;
  bool done = false;  ///< it closed, or said too much
};

void hear(Call& call) {
  char chunk[4096];
  const auto got = ::read(call.fd.get(), chunk, sizeof chunk);
  if (got > 0) call.said.append(chunk, static_cast<std::size_t>(got));
  call.done = got == 0 || call.said.size() > longest_answer;
}

/// Hears them all at once, until all have closed or it takes too long: less long when some have.
void hear_all(std::vector<Call>& calls) {
  const auto start = Clock::now();
  while (true) {
    std::vector<pollfd> polled;
    std::vector<Call*> open;
    for (auto& call : calls) {
      if (call.done) continue;
      polled.push_back({call.fd.get(), POLLIN, 0});
      open.push_back(&call);
    }
    const auto limit = open.size() < calls.size() ? straggler_time : answer_time;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(start + limit - Clock::now()).count();
    if (open.empty() || left <= 0) return;
    if (::poll(polled.data(), polled.size(), static_cast<int>(left)) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (polled[i].revents != 0) hear(*open[i]);
    }
  }
}

/// "1234.sock" -> 1234.
std::optional<int> pid_of(const std::string& name) {
  const auto dot = name.find('.');
  if (dot == 0 || dot > 9 || name.substr(std::min(dot, name.size())) != ".sock")
    return std::nullopt;
  if (name.find_first_not_of("0123456789") != dot) return std::nullopt;
  return std::atoi(name.c_str());
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  DIR* entries = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (entries == nullptr) return names;
  while (const auto* entry = ::readdir(entries)) {
    if (pid_of(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  return names;
}

}  // namespace

fs::path socket_folder() {
  if (const char* base = std::getenv("XDG_RUNTIME_DIR"); base != nullptr && *base != '\0') {
    return fs::path(base) / "troupe";
  }
  const auto user = std::to_string(::geteuid());
  std::error_code error;
  if (const auto base = fs::path("/run/user") / user; fs::is_directory(base, error)) {
    return base / "troupe";
  }
  const char* base = std::getenv("TMPDIR");
  return fs::path(base != nullptr && *base != '\0' ? base : "/tmp") / ("troupe-" + user);
}

Result<std::unique_ptr<LocalSocket>> LocalSocket::open(const fs::path& folder,
                                                       const LocalNode& node) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::permission_denied,
                "cannot make the folder " + folder.string() + ": " + errno_text(errno));
  }
  auto opened = open_private(folder);
  if (!opened) return Failure(opened.error());
  const auto name = std::to_string(node.pid) + ".sock";
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(ErrorCode::resource_exhausted, "socket: " + errno_text(errno));
  ::unlinkat(opened->get(), name.c_str(), 0);  // of an earlier process with our number
  const auto address = address_of(opened->get(), name);
  ::fchmod(fd.get(), 0600);  // the mode that the bound file gets, as far as the umask lets it
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::fchmodat(opened->get(), name.c_str(), 0600, 0) != 0 || ::listen(fd.get(), 16) != 0) {
    return fail(ErrorCode::unavailable, (folder / name).string() + ": " + errno_text(errno));
  }
  return std::unique_ptr<LocalSocket>(
      new LocalSocket(std::move(*opened), name, std::move(fd), encode(node)));
}

LocalSocket::LocalSocket(Fd folder, std::string name, Fd fd, std::string answer)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      fd_(std::move(fd)),
      answer_(std::move(answer)),
      thread_([this] { serve(); }) {}

LocalSocket::~LocalSocket() {
  stopping_ = true;
  wake_.signal();
  thread_.join();
  ::unlinkat(folder_.get(), name_.c_str(), 0);
}

void LocalSocket::serve() {
  while (!stopping_) {
    pollfd polled[2] = {{fd_.get(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    const Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client && is_ours(client.get())) answer(client.get());
  }
}

void LocalSocket::answer(int fd) const {
  // It is less than a socket's buffer holds, so nobody can make us wait.
  (void)::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
}

Result<LocalNodes> find_local_nodes(const fs::path& folder) {
  auto opened = open_private(folder);
  if (!opened && opened.error().code == ErrorCode::not_found) return LocalNodes{};
  if (!opened) return Failure(opened.error());
  LocalNodes found;
  std::vector<Call> calls;
  for (const auto& name : names_in(opened->get())) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto address = address_of(opened->get(), name);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      calls.push_back({std::move(fd), *pid_of(name), {}, false});
    } else if (errno == EAGAIN) {  // a full queue: it hangs
      found.silent.push_back(*pid_of(name));
    } else if (errno == ECONNREFUSED) {  // nobody listens: its process was killed
      ::unlinkat(opened->get(), name.c_str(), 0);
    }
  }
  hear_all(calls);
  for (const auto& call : calls) {
    auto node = call.done && is_ours(call.fd.get()) ? decode(call.said) : std::nullopt;
    if (node) {
      found.nodes.push_back(std::move(*node));
    } else {
      found.silent.push_back(call.pid);
    }
  }
  std::sort(found.nodes.begin(), found.nodes.end(), [](const auto& a, const auto& b) {
    return std::pair(a.name, a.pid) < std::pair(b.name, b.pid);
  });
  return found;
}

}  // namespace troupe
