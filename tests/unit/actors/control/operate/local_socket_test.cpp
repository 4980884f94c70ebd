// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/local_socket.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

LocalNode node(const std::string& name, int pid) {
  return {name, {"127.0.0.1", 7070}, "0123456789abcdef0123456789abcdef", true, pid, "0.1.0"};
}

/// Sets a variable for the time of a test.
struct Variable {
  Variable(const char* key, const char* value) : name(key) {
    if (const char* old = std::getenv(key)) before = old;
    value == nullptr ? ::unsetenv(key) : ::setenv(key, value, 1);
  }
  ~Variable() { before.empty() ? ::unsetenv(name) : ::setenv(name, before.c_str(), 1); }
  const char* name;
  std::string before;
};

BOOST_AUTO_TEST_CASE(hands_over_all_that_it_takes_to_join) {
  const test::Scratch scratch;
  const auto folder = scratch / "troupe";
  const auto b = LocalSocket::open(folder, node("b", 100));
  BOOST_TEST_REQUIRE(b.has_value(), test::why(b));
  const auto a = LocalSocket::open(folder, node("a", 101));
  const auto found = find_local_nodes(folder);
  BOOST_TEST_REQUIRE(found.has_value(), test::why(found));
  BOOST_TEST_REQUIRE(found->nodes.size() == 2u);
  const auto& first = found->nodes[0];
  BOOST_TEST(first.name == "a");
  BOOST_TEST(to_string(first.control) == "127.0.0.1:7070");
  BOOST_TEST(first.secret == node("a", 0).secret);
  BOOST_TEST(first.encrypt);
  BOOST_TEST(first.pid == 101);
  BOOST_TEST(first.version == "0.1.0");
  BOOST_TEST(found->silent.empty());
}

BOOST_AUTO_TEST_CASE(socket_and_folder_are_their_owners_alone) {
  const test::Scratch scratch;
  const auto socket = LocalSocket::open(scratch / "troupe", node("a", 100));
  BOOST_REQUIRE(socket);
  struct stat info {};
  BOOST_REQUIRE(::stat((scratch / "troupe/100.sock").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0600u);
  BOOST_REQUIRE(::stat((scratch / "troupe").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0700u);
}

BOOST_AUTO_TEST_CASE(a_folder_with_a_long_name_is_as_good) {
  const test::Scratch scratch;
  const auto folder = scratch / std::string(200, 'x');
  const auto socket = LocalSocket::open(folder, node("a", 100));
  BOOST_TEST_REQUIRE(socket.has_value(), test::why(socket));
  BOOST_TEST(find_local_nodes(folder)->nodes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_open_to_others_or_no_folder_is_refused) {
  const test::Scratch scratch;
  fs::create_directory(scratch / "open");
  ::chmod((scratch / "open").c_str(), 0755);
  fs::create_directory(scratch / "real");
  ::chmod((scratch / "real").c_str(), 0700);
  fs::create_directory_symlink(scratch / "real", scratch / "link");
  std::ofstream(scratch / "file") << "x";
  for (const auto* name : {"open", "link", "file"}) {
    BOOST_TEST(!LocalSocket::open(scratch / name, node("a", 1)), name);
    const auto found = find_local_nodes(scratch / name);
    BOOST_TEST(!found, name);
    BOOST_TEST(test::why(found).find((scratch / name).string()) == 0u);
  }
  BOOST_TEST(test::why(find_local_nodes(scratch / "open")).find("chmod 700") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_folder_means_no_node) {
  const test::Scratch scratch;
  const auto found = find_local_nodes(scratch / "nowhere");
  BOOST_REQUIRE(found);
  BOOST_TEST(found->nodes.empty());
}

int listener(const fs::path& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  BOOST_REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  BOOST_REQUIRE(::listen(fd, 1) == 0);
  return fd;
}

BOOST_AUTO_TEST_CASE(the_socket_of_a_killed_process_is_removed_and_a_silent_one_is_named) {
  const test::Scratch scratch;
  const auto folder = scratch / "troupe";
  const auto living = LocalSocket::open(folder, node("a", 100));
  ::close(listener(folder / "200.sock"));          // nobody listens any more
  const Fd silent(listener(folder / "300.sock"));  // as a stopped process
  std::ofstream(folder / "400.socket") << "no socket of ours";
  const auto found = find_local_nodes(folder);
  BOOST_REQUIRE(found);
  BOOST_TEST(found->nodes.size() == 1u);
  BOOST_TEST(found->silent == std::vector<int>{300}, boost::test_tools::per_element());
  BOOST_TEST(!fs::exists(folder / "200.sock"));
  BOOST_TEST(fs::exists(folder / "400.socket"));
}

BOOST_AUTO_TEST_CASE(a_socket_that_says_nonsense_is_no_node) {
  const test::Scratch scratch;
  const auto folder = scratch / "troupe";
  const auto living = LocalSocket::open(folder, node("a", 100));
  const Fd fd(listener(folder / "300.sock"));
  std::thread liar([&] {
    const Fd client(::accept(fd.get(), nullptr, nullptr));
    (void)::send(client.get(), "nonsense, and some more of it", 29, MSG_NOSIGNAL);
  });
  const auto found = find_local_nodes(folder);
  liar.join();
  BOOST_REQUIRE(found);
  BOOST_TEST(found->nodes.size() == 1u);
  BOOST_TEST(found->silent == std::vector<int>{300}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_socket_goes_with_its_node) {
  const test::Scratch scratch;
  LocalSocket::open(scratch / "troupe", node("a", 100)).value().reset();
  BOOST_TEST(fs::is_empty(scratch / "troupe"));
}

BOOST_AUTO_TEST_CASE(the_folder_follows_the_environment) {
  {
    const Variable runtime("XDG_RUNTIME_DIR", "/some/where");
    BOOST_TEST(socket_folder() == "/some/where/troupe");
  }
  const auto user = std::to_string(::geteuid());
  const Variable runtime("XDG_RUNTIME_DIR", nullptr);
  const Variable temporary("TMPDIR", "/else/where");
  const auto expected = fs::is_directory("/run/user/" + user)
                            ? fs::path("/run/user/" + user + "/troupe")
                            : fs::path("/else/where/troupe-" + user);
  BOOST_TEST(socket_folder() == expected);
}

}  // namespace
}  // namespace troupe
