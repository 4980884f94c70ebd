// SPDX-License-Identifier: Apache-2.0
//
// The transport's thread: send what others have queued, let UCX progress, and when there is nothing
// to do sleep in epoll over UCX's event descriptor, the wake-up and the control sockets.
#include "actors/net/ucx_transport.hpp"

#include "actors/base/coarse_clock.hpp"
#include "actors/base/fd.hpp"
#include "actors/base/log.hpp"
#include "actors/net/accept_gate.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/peer_table.hpp"
#include "actors/net/strangers.hpp"
#include "actors/net/ucx_worker.hpp"
#include "actors/net/wire/outbox.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <span>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using Clock = ControlConnection::Clock;
constexpr auto handshake_time = std::chrono::seconds(5);
constexpr auto tick = std::chrono::milliseconds(250);  // how finely time is kept
constexpr auto own_pause = std::chrono::seconds(1);    // between ticks: this process did not run
constexpr int accepts_at_once = 64;  // between looks at what those before have to say
// However much peers send: what a turn of the loop takes of it, and how soon sockets have their
// turn.
constexpr int progress_at_once = 1000;
constexpr int progress_at_end = 100'000;
constexpr auto look_every = std::chrono::milliseconds(1);

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(UcxTransportOptions options) : options_(std::move(options)) {}
  ~UcxTransport() override { stop(); }

  Result<PeerInfo> start(TransportHandler& handler) override;
  void connect(const Address& to, std::optional<NodeId> expected) override {
    outbox_.call({to, std::move(expected)});
  }
  bool send(const NodeId& to, Frame frame) override;
  void drop(const NodeId& id, const Error& why) override { outbox_.drop(id, why); }
  void stop() override;

 private:
  Result<void> open_ports();
  Result<void> make_worker();
  void run();
  void work();
  /// Sees to the sockets; sleeps until there is something to do, or for so long.
  void look(std::chrono::milliseconds patience);
  /// Takes in some of what has come.
  void progress(int most);
  /// How long UCX lets us sleep.
  [[nodiscard]] std::chrono::milliseconds may_look_for();
  /// Runs what the last frames woke, and sends what is queued.
  void answer();
  void drain_frames();
  void hand_over(const NodeId& to, std::span<Outgoing> frames);
  void accept();
  /// Closes the stranger that is wanted least; false where there is none.
  bool make_room(std::optional<int> stranger);
  void note_refusal(const Error& why);
  void add(std::unique_ptr<ControlConnection> connection);
  void declare_dead(const NodeId& id, const Error& why);
  void begin_call(const Outbox::Call& call);
  [[nodiscard]] Handshake make_handshake(Handshake::Role role, int fd,
                                         std::optional<NodeId> expected);
  void on_socket(int fd, std::uint32_t events);
  void watch(int fd, std::uint32_t events, int operation) const;
  /// Tells the peer table how far a handshake has come.
  Result<void> note_progress(ControlConnection& connection);
  void end(int fd, const Error& why);
  /// Signs of life, and the end of what takes too long.
  void keep_time();
  void shut_down();

  UcxTransportOptions options_;
  TransportHandler* handler_ = nullptr;
  Outbox outbox_;
  std::vector<Outgoing> drained_;  ///< empty but for its memory
  std::vector<NodeId> lost_;       ///< to whom somebody sent when they were not there
  std::atomic<bool> stopping_{false};
  Listener listener_;
  Fd epoll_;
  std::unique_ptr<UcxWorker> worker_;
  std::shared_ptr<CreditReturns> returns_;
  std::unique_ptr<PeerTable> peers_;
  std::map<int, std::unique_ptr<ControlConnection>> connections_;
  std::map<int, NodeId> known_;  ///< whose connection it is, once that is proved
  Strangers strangers_;
  std::uint64_t refused_ = 0;  ///< connections since the last line about that
  Clock::time_point refusals_said_{};
  Clock::time_point next_tick_{};
  Clock::time_point ticked_{};
  Clock::time_point next_look_{};
  bool heeds_ucx_ = true;  ///< UCX's event descriptor wakes us
  PeerInfo self_;
  std::string worker_address_;
  std::atomic<std::thread::id> loop_thread_;
  std::thread thread_;
};

Result<PeerInfo> UcxTransport::start(TransportHandler& handler) {
  handler_ = &handler;
  if (auto opened = open_ports(); !opened) return Failure(opened.error());
  if (auto made = make_worker(); !made) return Failure(made.error());
  self_ = {options_.self, listener_.address, options_.version, options_.node_actor, options_.role};
  returns_ = std::make_shared<CreditReturns>(options_.window, [this] { outbox_.wake(); });
  peers_ =
      std::make_unique<PeerTable>(*worker_, handler, returns_, options_.window, options_.encrypt);
  thread_ = std::thread([this] { run(); });
  return self_;
}

bool UcxTransport::send(const NodeId& to, Frame frame) {
  if (std::this_thread::get_id() != loop_thread_) return outbox_.put(to, std::move(frame));
  drain_frames();  // an actor that ran elsewhere a moment ago keeps its order
  auto outgoing = outbox_.pass(to, std::move(frame));
  if (outgoing) hand_over(to, std::span(&*outgoing, 1));
  return outgoing.has_value();
}

Result<void> UcxTransport::open_ports() {
  auto listener = listen_on(options_.listen);
  if (!listener) return Failure(listener.error());
  listener_ = std::move(*listener);
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail(ErrorCode::resource_exhausted, "epoll: " + errno_text(errno));
  watch(listener_.fd.get(), EPOLLIN, EPOLL_CTL_ADD);
  watch(outbox_.event().fd(), EPOLLIN, EPOLL_CTL_ADD);
  return {};
}

Result<void> UcxTransport::make_worker() {
  UcxWorker::Callbacks callbacks;
  callbacks.admit = [this](std::span<const std::byte> header, std::size_t payload) {
    return peers_->admit(header, payload);
  };
  callbacks.message = [this](Buffer header, Buffer payload) {
    peers_->receive(std::move(header), std::move(payload));
  };
  callbacks.bad = [this](std::span<const std::byte> header, const Error& why) {
    peers_->fail(header, why);
  };
  const accept_gate::Snapshot before;
  auto worker = UcxWorker::make(std::move(callbacks));
  if (!worker) return Failure(worker.error());
  before.guard_since();
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
  loop_thread_ = std::this_thread::get_id();
  while (!stopping_) {
    try {
      work();
    } catch (const std::exception& e) {  // decode boundary: one bad message is not the end of all
      log_error("the network thread met: {}", e.what());
    }
  }
  shut_down();
}

void UcxTransport::work() {
  for (const auto& call : outbox_.take_calls()) begin_call(call);
  drain_frames();
  for (const auto& [id, why] : outbox_.take_drops()) declare_dead(id, why);
  // What has come is answered before UCX looks for more, which is a system call.
  for (int i = 0; i < progress_at_once && worker_->progress(); ++i) answer();
  answer();
  for (const int fd : peers_->bury_failed()) end(fd, {ErrorCode::unavailable, "peer lost"});
  for (const auto& id : peers_->take_buried()) outbox_.forget(id);
  for (const auto& id : std::exchange(lost_, {})) outbox_.forget(id);
  const auto patience = peers_->has_failed() ? std::chrono::milliseconds(0) : may_look_for();
  const bool idle = patience.count() > 0 && outbox_.may_sleep();
  if (idle || next_look_ <= coarse_now()) look(idle ? patience : std::chrono::milliseconds(0));
  outbox_.awake();
  keep_time();
}

std::chrono::milliseconds UcxTransport::may_look_for() {
  const bool armed = worker_->arm();
  const bool heed = !worker_->only_seems_busy();
  if (std::exchange(heeds_ucx_, heed) != heed) {
    watch(worker_->event_fd(), heed ? EPOLLIN : 0u, EPOLL_CTL_MOD);
  }
  if (armed) return tick;
  return heed ? std::chrono::milliseconds(0) : look_every;
}

void UcxTransport::progress(int most) {
  for (int i = 0; i < most && worker_->progress(); ++i) {
  }
}

void UcxTransport::answer() {
  handler_->on_pause();
  peers_->flush();
}

void UcxTransport::drain_frames() {
  drained_.clear();  // it is empty, unless memory ran out here the last time
  outbox_.take(drained_);
  for (std::size_t begin = 0; begin < drained_.size();) {
    const auto* backlog = drained_[begin].charge.backlog();
    auto end = begin + 1;
    while (end < drained_.size() && drained_[end].charge.backlog() == backlog) ++end;
    hand_over(backlog->peer(), std::span(drained_).subspan(begin, end - begin));
    begin = end;
  }
  drained_.clear();
}

void UcxTransport::hand_over(const NodeId& to, std::span<Outgoing> frames) {
  if (!peers_->send(to, frames)) lost_.push_back(to);
}

void UcxTransport::declare_dead(const NodeId& id, const Error& why) {
  for (const auto& [fd, owner] : known_) {
    if (owner == id) connections_.at(fd)->say_goodbye(why);
  }
  peers_->drop(id, why);
}

void UcxTransport::look(std::chrono::milliseconds patience) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, static_cast<int>(patience.count()));
  next_look_ = coarse_now() + look_every;
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == outbox_.event().fd()) {
      outbox_.event().clear();
    } else if (fd == listener_.fd.get()) {
      accept();
    } else if (fd != worker_->event_fd()) {
      on_socket(fd, events[i].events);
    }
  }
}

Handshake UcxTransport::make_handshake(Handshake::Role role, int fd,
                                       std::optional<NodeId> expected) {
  Introduction mine{self_, worker_address_, random_number(), options_.encrypt};
  // Who listens everywhere can be called at the address by which this peer reaches us.
  const auto& host = mine.info.control.host;
  if (host == "0.0.0.0" || host == "::") mine.info.control.host = local_host(fd);
  return {role, options_.secret, std::move(mine), std::move(expected)};
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
    auto handshake = make_handshake(Handshake::Role::called, fd.get(), {});
    add(std::make_unique<ControlConnection>(std::move(fd), std::move(handshake), std::nullopt,
                                            Clock::now() + handshake_time));
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
  // One call answers all who ask for the same while it goes on.
  for (const auto& [number, connection] : connections_) {
    const auto owner = known_.find(number);
    const bool up = owner != known_.end() && peers_->is_up(owner->second);
    if (!up && connection->called() == call.to &&
        connection->handshake().expected() == call.expected) {
      return;
    }
  }
  auto fd = begin_connect(call.to);
  if (!fd) return handler_->on_connect_failed(call.to, fd.error());
  auto handshake = make_handshake(Handshake::Role::caller, fd->get(), call.expected);
  add(std::make_unique<ControlConnection>(std::move(*fd), std::move(handshake), call.to,
                                          Clock::now() + handshake_time));
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
    connection.handshake().done() ? connection.say_goodbye(noted.error())
                                  : connection.refuse(noted.error());
    result = noted;
  }
  if (result && (events & EPOLLIN) != 0) result = connection.on_writable();
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
      if (!handshake.done()) return {};  // it may say more of it than we know
      return fail(ErrorCode::aborted,
                  "node " + to_string(id) + " was declared dead; start it again to rejoin");
    }
    if (auto expected = peers_->expect(handshake, fd); !expected) return expected;
    known_.emplace(fd, id);
    strangers_.remove(fd);
    accept_gate::let_in(connection.remote_host());
  }
  if (handshake.done()) peers_->introduce(handshake);
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
  if (known) {
    known_.erase(owner);
    accept_gate::keep_out(connection->remote_host());
  }
  if (connection->called() && !(known && peers_->was_up(id))) {
    handler_->on_connect_failed(*connection->called(), why);
  } else if (!known && !connection->called()) {
    note_refusal(why);
  }
  if (known) {
    // What the peer sent before it closed is still in UCX: deliver it first.
    progress(progress_at_end);
    peers_->disconnect(id, fd, why);
  }
}

void UcxTransport::keep_time() {
  if (coarse_now() < next_tick_) return;
  const auto now = Clock::now();
  next_tick_ = now + tick;
  const auto before = std::exchange(ticked_, now);
  const auto pause = now - before;
  if (pause > own_pause) {
    for (const auto& [fd, connection] : connections_) connection->excuse(pause, now);
  }
  std::vector<std::pair<int, Error>> ended;
  for (const auto& [fd, connection] : connections_) {
    const auto owner = known_.find(fd);
    const bool up = owner != known_.end() && peers_->is_up(owner->second);
    if (!up && connection->due() < now) {
      ended.emplace_back(fd, Error{ErrorCode::timeout, "no answer within 5 s"});
    } else if (auto alive = connection->keep_alive(now); !alive) {
      ended.emplace_back(fd, alive.error());
    } else if (up && connection->heard() > before) {
      handler_->on_sign_of_life(owner->second);
    }
  }
  for (const auto& [fd, why] : ended) end(fd, why);
}

void UcxTransport::shut_down() {
  listener_.fd.reset();
  drain_frames();
  const auto until = Clock::now() + std::chrono::milliseconds(500);
  do {
    peers_->flush();
    progress(progress_at_once);
  } while (!peers_->idle() && Clock::now() < until);
  for (auto& [fd, connection] : connections_) connection->say_goodbye();
  peers_->clear();
  for (const auto& [fd, id] : known_) accept_gate::keep_out(connections_.at(fd)->remote_host());
  known_.clear();
  connections_.clear();
  peers_.reset();
  worker_.reset();
}

void UcxTransport::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  outbox_.event().signal();
  thread_.join();
}

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(UcxTransportOptions options) {
  return std::make_unique<UcxTransport>(std::move(options));
}

}  // namespace troupe
