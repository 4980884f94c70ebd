// SPDX-License-Identifier: Apache-2.0
//
// The transport's thread: send what others have queued, let UCX progress, and when there is nothing
// to do sleep in epoll over UCX's event descriptor, the wake-up and the control sockets.
#include "actors/net/ucx_transport.hpp"

#include "actors/base/fd.hpp"
#include "actors/base/log.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/peer_table.hpp"
#include "actors/net/strangers.hpp"
#include "actors/net/ucx_worker.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using Clock = ControlConnection::Clock;
constexpr auto handshake_time = std::chrono::seconds(5);
constexpr int accepts_at_once = 64;  // between looks at what those before have to say

/// What other threads want from the transport's thread.
class Outbox {
 public:
  struct Call {
    Address to;
    std::optional<NodeId> expected;
  };
  struct Content {
    std::vector<std::pair<NodeId, Frame>> frames;
    std::vector<Call> calls;
  };

  void send(const NodeId& to, Frame frame) {
    const std::lock_guard lock(mutex_);
    content_.frames.emplace_back(to, std::move(frame));
    wake_.signal();
  }
  void call(Call call) {
    const std::lock_guard lock(mutex_);
    content_.calls.push_back(std::move(call));
    wake_.signal();
  }
  [[nodiscard]] Content take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(content_, {});
  }
  [[nodiscard]] const WakeUp& wake() const { return wake_; }

 private:
  std::mutex mutex_;
  Content content_;
  WakeUp wake_;
};

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(UcxTransportOptions options) : options_(std::move(options)) {}
  ~UcxTransport() override { stop(); }

  Result<PeerInfo> start(TransportHandler& handler) override;
  void connect(const Address& to, std::optional<NodeId> expected) override {
    outbox_.call({to, std::move(expected)});
  }
  void send(const NodeId& to, Frame frame) override { outbox_.send(to, std::move(frame)); }
  void stop() override;

 private:
  Result<void> open_ports();
  Result<void> make_worker();
  void run();
  void drain_outbox();
  void sleep();
  void accept();
  /// Closes the stranger that is wanted least; false where there is none.
  bool make_room(std::optional<int> stranger);
  void note_refusal(const Error& why);
  void add(std::unique_ptr<ControlConnection> connection);
  void begin_call(const Outbox::Call& call);
  [[nodiscard]] Handshake make_handshake(Handshake::Role role, std::optional<NodeId> expected);
  void on_socket(int fd, std::uint32_t events);
  void watch(int fd, std::uint32_t events, int operation) const;
  /// Tells the peer table how far a handshake has come.
  Result<void> note_progress(ControlConnection& connection);
  void end(int fd, const Error& why);
  void end_late_handshakes();
  void shut_down();

  UcxTransportOptions options_;
  TransportHandler* handler_ = nullptr;
  Outbox outbox_;
  std::atomic<bool> stopping_{false};
  Listener listener_;
  Fd epoll_;
  std::unique_ptr<UcxWorker> worker_;
  std::unique_ptr<PeerTable> peers_;
  std::map<int, std::unique_ptr<ControlConnection>> connections_;
  std::map<int, NodeId> known_;  ///< whose connection it is, once that is proved
  Strangers strangers_;
  std::uint64_t refused_ = 0;  ///< connections since the last line about that
  Clock::time_point refusals_said_{};
  PeerInfo self_;
  std::string worker_address_;
  std::thread thread_;
};

Result<PeerInfo> UcxTransport::start(TransportHandler& handler) {
  handler_ = &handler;
  if (auto opened = open_ports(); !opened) return Failure(opened.error());
  if (auto made = make_worker(); !made) return Failure(made.error());
  self_ = {options_.self, listener_.address, options_.version, options_.node_actor};
  peers_ = std::make_unique<PeerTable>(*worker_, handler);
  thread_ = std::thread([this] { run(); });
  return self_;
}

Result<void> UcxTransport::open_ports() {
  auto listener = listen_on(options_.listen);
  if (!listener) return Failure(listener.error());
  listener_ = std::move(*listener);
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail(ErrorCode::resource_exhausted, "epoll: " + errno_text(errno));
  watch(listener_.fd.get(), EPOLLIN, EPOLL_CTL_ADD);
  watch(outbox_.wake().fd(), EPOLLIN, EPOLL_CTL_ADD);
  return {};
}

Result<void> UcxTransport::make_worker() {
  UcxWorker::Callbacks callbacks;
  callbacks.admit = [this](const FrameHeader& header, std::size_t) {
    return peers_->admits(header);
  };
  callbacks.frame = [this](Frame frame) { peers_->receive(std::move(frame)); };
  callbacks.bad = [](const Error& why) { log_warn("dropped what is no frame: {}", why.what); };
  auto worker = UcxWorker::make(std::move(callbacks));
  if (!worker) return Failure(worker.error());
  worker_ = std::move(*worker);
  auto address = worker_->address();
  if (!address) return Failure(address.error());
  worker_address_ = std::move(*address);
  watch(worker_->event_fd(), EPOLLIN, EPOLL_CTL_ADD);
  return {};
}

void UcxTransport::watch(int fd, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll_.get(), operation, fd, &event);
}

void UcxTransport::run() {
  while (!stopping_) {
    drain_outbox();
    while (worker_->progress()) {
    }
    for (const int fd : peers_->bury_failed()) end(fd, {ErrorCode::unavailable, "peer lost"});
    if (worker_->arm()) sleep();
    end_late_handshakes();
  }
  shut_down();
}

void UcxTransport::drain_outbox() {
  auto content = outbox_.take();
  for (const auto& call : content.calls) begin_call(call);
  for (auto& [to, frame] : content.frames) peers_->send(to, std::move(frame));
}

void UcxTransport::sleep() {
  epoll_event events[64];
  const bool handshakes = known_.size() < connections_.size();
  const int count = ::epoll_wait(epoll_.get(), events, 64, handshakes ? 100 : -1);
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == outbox_.wake().fd()) {
      outbox_.wake().clear();
    } else if (fd == listener_.fd.get()) {
      accept();
    } else if (fd != worker_->event_fd()) {
      on_socket(fd, events[i].events);
    }
  }
}

Handshake UcxTransport::make_handshake(Handshake::Role role, std::optional<NodeId> expected) {
  return {role, options_.secret, Introduction{self_, worker_address_, random_number()},
          std::move(expected)};
}

void UcxTransport::accept() {
  for (int i = 0; i < accepts_at_once; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    Fd fd(::accept4(listener_.fd.get(), reinterpret_cast<sockaddr*>(&from), &length,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool full = errno == EMFILE || errno == ENFILE;
    if (!fd && full && make_room(strangers_.least_wanted())) continue;
    if (!fd) return;
    make_room(strangers_.victim());
    strangers_.add(fd.get(), origin_of(from));
    add(std::make_unique<ControlConnection>(std::move(fd),
                                            make_handshake(Handshake::Role::called, {}),
                                            std::nullopt, Clock::now() + handshake_time));
  }
}

bool UcxTransport::make_room(std::optional<int> stranger) {
  if (stranger) end(*stranger, {ErrorCode::resource_exhausted, "too many strangers at once"});
  return stranger.has_value();
}

void UcxTransport::note_refusal(const Error& why) {
  ++refused_;
  if (Clock::now() - refusals_said_ < std::chrono::seconds(1)) return;
  log_info("refused {} connection(s), the last: {}", std::exchange(refused_, 0), why.what);
  refusals_said_ = Clock::now();
}

void UcxTransport::begin_call(const Outbox::Call& call) {
  if (call.expected && (peers_->is_up(*call.expected))) return;
  if (call.expected && peers_->is_dead(*call.expected)) {
    return handler_->on_connect_failed(
        call.to, {ErrorCode::unavailable, "node " + to_string(*call.expected) + " is gone"});
  }
  auto fd = begin_connect(call.to);
  if (!fd) return handler_->on_connect_failed(call.to, fd.error());
  add(std::make_unique<ControlConnection>(std::move(*fd),
                                          make_handshake(Handshake::Role::caller, call.expected),
                                          call.to, Clock::now() + handshake_time));
}

void UcxTransport::add(std::unique_ptr<ControlConnection> connection) {
  const int fd = connection->fd();
  watch(fd, EPOLLIN | (connection->wants_to_write() ? EPOLLOUT : 0u), EPOLL_CTL_ADD);
  connections_[fd] = std::move(connection);
}

void UcxTransport::on_socket(int fd, std::uint32_t events) {
  const auto it = connections_.find(fd);
  if (it == connections_.end()) return;
  auto& connection = *it->second;
  Result<void> result;
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) result = connection.on_writable();
  if (result && (events & EPOLLIN) != 0) result = connection.on_readable();
  if (auto noted = note_progress(connection); result && !noted) {
    connection.refuse(noted.error());
    result = noted;
  }
  if (!result) return end(fd, result.error());
  watch(fd, EPOLLIN | (connection.wants_to_write() ? EPOLLOUT : 0u), EPOLL_CTL_MOD);
}

Result<void> UcxTransport::note_progress(ControlConnection& connection) {
  const auto& handshake = connection.handshake();
  if (handshake.peer()) strangers_.greeted(connection.fd());
  const bool proved = handshake.done() || (connection.called() && handshake.peer());
  if (!proved || !handshake.peer()) return {};
  const auto& id = handshake.peer()->id;
  const int fd = connection.fd();
  if (!known_.contains(fd)) {
    if (peers_->is_dead(id)) {
      return fail(ErrorCode::unavailable,
                  "node " + to_string(id) + " was declared dead; start it again to rejoin");
    }
    known_.emplace(fd, id);
    strangers_.remove(fd);
    peers_->expect(id, handshake.mine().session, fd);
  }
  if (handshake.done()) peers_->introduce(handshake.theirs());
  return {};
}

void UcxTransport::end(int fd, const Error& why) {
  const auto it = connections_.find(fd);
  if (it == connections_.end()) return;
  const auto connection = std::move(it->second);
  connections_.erase(it);
  strangers_.remove(fd);
  watch(fd, 0, EPOLL_CTL_DEL);
  const auto owner = known_.find(fd);
  const bool known = owner != known_.end();
  const NodeId id = known ? owner->second : NodeId{};
  if (known) known_.erase(owner);
  if (!connection->handshake().done() && connection->called()) {
    handler_->on_connect_failed(*connection->called(), why);
  } else if (!known && !connection->called()) {
    note_refusal(why);
  }
  if (known) {
    // What the peer sent before it closed is still in UCX: deliver it first.
    while (worker_->progress()) {
    }
    peers_->disconnect(id, fd, why);
  }
}

void UcxTransport::end_late_handshakes() {
  const auto now = Clock::now();
  std::vector<int> late;
  for (const auto& [fd, connection] : connections_) {
    if (!connection->handshake().done() && connection->due() < now) late.push_back(fd);
  }
  for (const int fd : late) {
    end(fd, {ErrorCode::timeout, "no answer within 5 s"});
  }
}

void UcxTransport::shut_down() {
  listener_.fd.reset();
  drain_outbox();
  const auto until = Clock::now() + std::chrono::milliseconds(500);
  while (worker_->in_flight() > 0 && Clock::now() < until) worker_->progress();
  for (auto& [fd, connection] : connections_) connection->say_goodbye();
  peers_.reset();
  connections_.clear();
  worker_.reset();
}

void UcxTransport::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  outbox_.wake().signal();
  thread_.join();
}

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(UcxTransportOptions options) {
  return std::make_unique<UcxTransport>(std::move(options));
}

}  // namespace troupe
