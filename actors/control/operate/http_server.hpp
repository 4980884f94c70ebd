// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe {

struct HttpAnswer {
  unsigned status = 200;
  std::string text;
  std::string type = "text/plain; charset=utf-8";
};

/// A small HTTP server for machines that watch a node: GET and HEAD only, short requests, a time
/// limit for each, a bounded number of connections. A thread of its own.
class HttpServer {
 public:
  static constexpr std::size_t most_connections = 64;

  /// `answer` is called on the server's thread with the path that was asked for ("/metrics"), and
  /// says nothing by status 404. Errors: a port in use, an address that is not this machine's.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(
      const Address& listen, std::function<HttpAnswer(const std::string& path)> answer);
  virtual ~HttpServer() = default;

  /// Where it listens.
  [[nodiscard]] virtual const Address& address() const = 0;
};

}  // namespace troupe
