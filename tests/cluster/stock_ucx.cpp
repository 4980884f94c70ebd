// SPDX-License-Identifier: Apache-2.0
//
// stock_ucx listener|worker: a program that uses UCX as it comes, for tests that compare. Prints
// UCX's version and the port that it listens on, a ucp_listener's or that of the worker's data, and
// lets UCX work until its input ends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "stock_ucx: %s\n", what);
  std::exit(2);
}

unsigned port_of(const sockaddr_storage& address) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// The port of the only listening socket of this process.
unsigned data_port() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int listens = 0;
    socklen_t length = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    sockaddr_storage address{};
    length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    return port_of(address);
  }
  give_up("UCX does not listen");
}

ucp_worker_h make_worker() {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  ucp_context_h context = nullptr;
  if (ucp_init(&params, nullptr, &context) != UCS_OK) give_up("ucp_init");
  const ucp_worker_params_t worker_params{};
  ucp_worker_h worker = nullptr;
  if (ucp_worker_create(context, &worker_params, &worker) != UCS_OK) give_up("ucp_worker_create");
  return worker;
}

unsigned listen_with(ucp_worker_h worker) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&here), sizeof here};
  params.conn_handler.cb = [](ucp_conn_request_h, void*) {};
  ucp_listener_h listener = nullptr;
  if (ucp_listener_create(worker, &params, &listener) != UCS_OK) give_up("ucp_listener_create");
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  if (ucp_listener_query(listener, &attributes) != UCS_OK) give_up("ucp_listener_query");
  return port_of(attributes.sockaddr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) give_up("say listener or worker");
  setenv("UCX_TLS", "tcp", 1);
  setenv("UCX_NET_DEVICES", "lo", 1);
  auto* worker = make_worker();
  const bool listens = std::strcmp(argv[1], "listener") == 0;
  std::printf("%s %u\n", ucp_get_version_string(), listens ? listen_with(worker) : data_port());
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  while (poll(&input, 1, 1) == 0) {
    while (ucp_worker_progress(worker) != 0) {
    }
  }
  std::_Exit(0);
}
