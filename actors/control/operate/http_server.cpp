// SPDX-License-Identifier: Apache-2.0
//
// The one file that includes Beast. Everything happens on one thread: an acceptor, and for each
// connection a chain of read, answer, write under one deadline.
#include "actors/control/operate/http_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>  // Boost 1.74's beast forgets it

namespace troupe {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto patience = std::chrono::seconds(5);
constexpr std::uint32_t longest_header = 8 << 10;

using Answer = std::function<HttpAnswer(const std::string& path)>;

http::response<http::string_body> respond(const http::request<http::empty_body>& request,
                                          const Answer& answer) {
  HttpAnswer content;
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    content = {405, "only GET and HEAD\n"};
  } else {
    const std::string target(request.target().data(), request.target().size());
    content = answer(target.substr(0, target.find('?')));
  }
  http::response<http::string_body> response(http::int_to_status(content.status),
                                             request.version());
  response.set(http::field::content_type, content.type);
  response.set(http::field::cache_control, "no-store");
  response.keep_alive(false);
  response.body() = std::move(content.text);
  response.prepare_payload();
  if (request.method() == http::verb::head) response.body().clear();
  return response;
}

/// One connection, one request. Kept alive by its own handlers.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const Answer& answer, std::size_t& count)
      : stream_(std::move(socket)), answer_(answer), count_(count) {
    ++count_;
    parser_.header_limit(longest_header);
    parser_.body_limit(0);
  }
  ~Session() { --count_; }

  void start() {
    stream_.expires_after(patience);
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = respond(parser_.get(), answer_);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code, std::size_t) {
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{longest_header};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  const Answer& answer_;
  std::size_t& count_;
};

class Server final : public HttpServer {
 public:
  explicit Server(Answer answer) : answer_(std::move(answer)), acceptor_(context_) {}
  ~Server() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> open(const Address& listen) {
    error_code error;
    const auto host = asio::ip::make_address(listen.host, error);
    if (error) return fail(ErrorCode::invalid_argument, to_string(listen) + ": " + error.message());
    const tcp::endpoint endpoint(host, listen.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(16, error);
    if (error) {
      return fail(
          error == asio::error::address_in_use ? ErrorCode::already_exists : ErrorCode::unavailable,
          "HTTP on " + to_string(listen) + ": " + error.message());
    }
    address_ = {listen.host, acceptor_.local_endpoint().port()};
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  const Address& address() const override { return address_; }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      // One too many is closed at once.
      if (!error && connections_ < most_connections) {
        std::make_shared<Session>(std::move(socket), answer_, connections_)->start();
      }
      if (error == asio::error::no_descriptors) return retry();
      accept();
    });
  }
  void retry() {  // a little later, instead of at once for ever
    timer_.emplace(context_, std::chrono::milliseconds(100));
    timer_->async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  Answer answer_;
  Address address_;
  std::size_t connections_ = 0;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::optional<asio::steady_timer> timer_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Address& listen, Answer answer) {
  auto server = std::make_unique<Server>(std::move(answer));
  if (auto opened = server->open(listen); !opened) return Failure(opened.error());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace troupe
