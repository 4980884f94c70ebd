// SPDX-License-Identifier: Apache-2.0
//
// One connection for each request: a request that met a closed connection is then known not to have
// been carried out. A request to a member is four asynchronous steps (look up, connect, write,
// read) that run while post() waits; when the time is over, the socket is closed and the steps that
// are left, which own what they use, find that nobody waits for them.
#include "actors/control/store/etcd_client.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>  // before Beast, which forgets it

namespace troupe {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = boost::asio::ip::tcp;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

/// A page of the largest values, in base64, and more.
constexpr std::uint64_t max_answer_bytes = std::uint64_t{64} << 20;

/// One request to one member.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, const Address& member, const std::string& path,
           std::string body)
      : resolver_(io), stream_(io), member_(member) {
    request_.method(http::verb::post);
    request_.target(path);
    request_.version(11);
    request_.set(http::field::host, to_string(member));
    request_.set(http::field::content_type, "application/json");
    request_.keep_alive(false);
    request_.body() = std::move(body);
    request_.prepare_payload();
    response_.body_limit(max_answer_bytes);
  }

  void start() {
    resolver_.async_resolve(member_.host, std::to_string(member_.port),
                            [self = shared_from_this()](error_code error, auto found) {
                              if (!self->ends(error)) self->connect(found);
                            });
  }

  /// Nobody waits any more.
  void abandon() {
    done_ = true;
    resolver_.cancel();
    stream_.close();
  }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool sent() const { return sent_; }
  [[nodiscard]] error_code error() const { return error_; }
  [[nodiscard]] unsigned status() { return response_.get().result_int(); }
  [[nodiscard]] const std::string& answer() { return response_.get().body(); }

 private:
  /// Does the exchange end here?
  bool ends(error_code error) {
    if (done_) return true;
    error_ = error;
    done_ = error.failed();
    return done_;
  }

  void connect(const Tcp::resolver::results_type& found) {
    stream_.expires_never();
    stream_.async_connect(found, [self = shared_from_this()](error_code error, const auto&) {
      if (!self->ends(error)) self->write();
    });
  }

  void write() {
    sent_ = true;
    http::async_write(stream_, request_,
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!self->ends(error)) self->read();
                      });
  }

  void read() {
    http::async_read(stream_, buffer_, response_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!self->ends(error)) self->done_ = true;
                     });
  }

  Tcp::resolver resolver_;
  beast::tcp_stream stream_;
  Address member_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> response_;
  beast::flat_buffer buffer_;
  error_code error_;
  bool sent_ = false;
  bool done_ = false;
};

/// What a member said, or why it said nothing.
struct Said {
  Result<nlohmann::json> answer;
  bool next = false;  ///< another member may do better
  bool sent = true;   ///< it may have been carried out
};

Said silent(ErrorCode code, std::string why, bool sent) {
  return {Failure(Error{code, std::move(why)}), true, sent};
}

/// gRPC's numbers, as the gateway passes them on.
ErrorCode code_of(int grpc) {
  switch (grpc) {
    case 3:
    case 11:
      return ErrorCode::invalid_argument;
    case 4:
      return ErrorCode::timeout;
    case 5:
      return ErrorCode::not_found;
    case 7:
    case 16:
      return ErrorCode::permission_denied;
    case 8:
      return ErrorCode::resource_exhausted;
    default:
      return ErrorCode::unavailable;
  }
}

Said refusal(const nlohmann::json& error) {
  const auto grpc = error.value("code", error.value("grpc_code", 14));
  auto words = error.value("message", std::string("etcd gave no reason"));
  const auto code = code_of(grpc);
  const bool next = code == ErrorCode::unavailable || code == ErrorCode::timeout;
  return {Failure(Error{code, std::move(words)}), next, true};
}

Said understand(unsigned status, const std::string& text) {
  const auto foreign = [&] {
    return silent(
        ErrorCode::unavailable,
        "no etcd with the version 3 JSON gateway (HTTP status " + std::to_string(status) + ")",
        false);
  };
  try {
    auto json = nlohmann::json::parse(text);
    if (!json.is_object()) return foreign();
    const auto error = json.find("error");
    if (error != json.end()) return refusal(error->is_object() ? *error : json);
    if (status != 200) return foreign();
    return {std::move(json)};
  } catch (const nlohmann::json::exception&) {
    return foreign();
  }
}

}  // namespace

struct EtcdClient::Io {
  boost::asio::io_context context{1};

  /// Gives up at `send_by` where the request is not yet sent, and at `answer_by` in any case.
  Said ask(const Address& member, const std::string& path, const std::string& body,
           SteadyClock::time_point send_by, SteadyClock::time_point answer_by) {
    const auto started = SteadyClock::now();
    const auto exchange = std::make_shared<Exchange>(context, member, path, body);
    const auto limit = [&] { return exchange->sent() ? answer_by : std::min(send_by, answer_by); };
    exchange->start();
    context.restart();
    while (!exchange->done() && context.run_one_until(limit()) != 0) {
    }
    if (!exchange->done()) {
      exchange->abandon();
      const auto waited = std::chrono::round<Millis>(limit() - started);
      return silent(ErrorCode::timeout,
                    (exchange->sent() ? "no answer within " : "no connection within ") +
                        std::to_string(waited.count()) + " ms",
                    exchange->sent());
    }
    if (exchange->error()) {
      return silent(ErrorCode::unavailable, exchange->error().message(), exchange->sent());
    }
    return understand(exchange->status(), exchange->answer());
  }
};

EtcdClient::EtcdClient(std::vector<Address> members, EtcdLimits limits)
    : members_(std::move(members)), limits_(limits), io_(std::make_unique<Io>()) {}

EtcdClient::~EtcdClient() = default;

Result<nlohmann::json> EtcdClient::post(const std::string& path, const nlohmann::json& body,
                                        Again again) {
  const auto text = body.dump();
  const auto until = SteadyClock::now() + limits_.total;
  Error error{ErrorCode::unavailable, {}};
  for (std::size_t tried = 0; tried < members_.size(); ++tried) {
    const auto now = SteadyClock::now();
    if (now >= until) break;
    const auto attempt = std::min(until, now + limits_.attempt);
    const auto& member = members_[first_];
    auto said = io_->ask(member, path, text, attempt, again == Again::yes ? attempt : until);
    if (!said.next) {
      if (said.answer) return said.answer;
      return fail_at("etcd at " + to_string(member), said.answer.error());
    }
    first_ = (first_ + 1) % members_.size();
    error.code = said.answer.error().code;
    error.what += (tried == 0 ? "" : "; ") + to_string(member) + ": " + said.answer.error().what;
    if (said.sent && again == Again::no) {
      error.what += "; whether it did what was asked is not known";
      return fail_at("etcd", error);
    }
  }
  return fail(error.code, "etcd: no member answered (" + error.what +
                              "): more than half of its members must be up and reachable");
}

}  // namespace troupe
