// SPDX-License-Identifier: Apache-2.0
//
// The end that served answers on a thread of its own; the end that joined measures on the caller's
// thread. Both wait as the transport does: progress until there is nothing to do, arm, sleep in
// poll. An order is three numbers, as in traffic.hpp.
#include "apps/bench/actors/ucx_peer.hpp"

#include "actors/base/fd.hpp"
#include "actors/net/crypto.hpp"
#include "apps/bench/actors/ucx_link.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace troupe::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t max_in_flight = 1024;  // small messages that the socket has not taken yet

Result<std::string> from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  if (bytes.empty()) return fail(ErrorCode::corrupt, "an empty worker address");
  return bytes;
}

class UcxPeer final : public Peer {
 public:
  explicit UcxPeer(std::unique_ptr<UcxLink> link) : link_(std::move(link)) {}
  ~UcxPeer() override {
    stopping_ = true;
    stop_.signal();
    if (answering_.joinable()) answering_.join();
  }

  Result<std::string> serve() override { return address(); }

  Result<std::string> join(const std::string& served) override {
    if (auto connected = connect(served); !connected) return Failure(connected.error());
    link_->on_message([this](auto tag, auto bytes, std::size_t) { note(tag, bytes); });
    return address();
  }

  Result<void> accept(const std::string& joined) override {
    if (auto connected = connect(joined); !connected) return connected;
    link_->on_message([this](auto tag, auto bytes, std::size_t size) { answer(tag, bytes, size); });
    answering_ = std::thread([this] {
      while (!stopping_) progress_or_sleep();
    });
    return {};
  }

  Result<std::vector<double>> measure(const Task& task) override {
    payload_.assign(task.bytes, std::byte{7});
    const bool echo = task.work == Work::ping_pong;
    order_ = {echo ? 0 : task.count, task.bytes, task.ack_every(), task.window};
    acknowledged_ = 0;
    const auto begin = Clock::now();
    link_->send(UcxLink::Tag::order, std::as_bytes(std::span(order_)));
    if (echo) return ping(task);
    stream(task);
    return std::vector{std::chrono::duration<double>(Clock::now() - begin).count()};
  }

 private:
  Result<std::string> address() const {
    const auto bytes = link_->address();
    if (!bytes) return bytes;
    return to_hex(std::as_bytes(std::span(*bytes)));
  }

  Result<void> connect(const std::string& hex) {
    const auto bytes = from_hex(hex);
    if (!bytes) return Failure(bytes.error());
    return link_->connect(*bytes);
  }

  void progress_or_sleep() {
    if (!link_->progress()) link_->sleep(stop_.fd());
  }

  // ---- the end that served ----

  void answer(UcxLink::Tag tag, std::span<const std::byte> bytes, std::size_t size) {
    if (tag == UcxLink::Tag::order && bytes.size() == sizeof order_) {
      std::memcpy(order_.data(), bytes.data(), sizeof order_);
      received_ = 0;
      if (order_[1] > max_inner_bytes) link_->expect_large(order_[1], order_[3]);
      payload_.assign(order_[1], std::byte{7});
      return;
    }
    const auto [count, wanted, every, window] = order_;
    if (size != wanted) return;
    if (count == 0) {
      std::memcpy(payload_.data(), bytes.data(), bytes.size());
      return link_->send(UcxLink::Tag::data, payload_);
    }
    ++received_;
    if (received_ == count || (every != 0 && received_ % every == 0)) {
      link_->send_number(UcxLink::Tag::ack, received_);
    }
  }

  // ---- the end that joined ----

  void note(UcxLink::Tag tag, std::span<const std::byte> bytes) {
    if (tag == UcxLink::Tag::data) {
      ++acknowledged_;
    } else if (tag == UcxLink::Tag::ack && bytes.size() == sizeof acknowledged_) {
      std::memcpy(&acknowledged_, bytes.data(), sizeof acknowledged_);
    }
  }

  std::vector<double> ping(const Task& task) {
    const auto unmeasured = task.count / 10;
    std::vector<double> times;
    for (std::uint64_t i = 0; i < task.count + unmeasured; ++i) {
      const auto sent = Clock::now();
      link_->send(UcxLink::Tag::data, payload_);
      while (acknowledged_ <= i) progress_or_sleep();
      const std::chrono::duration<double, std::micro> time = Clock::now() - sent;
      if (i >= unmeasured) times.push_back(time.count());
    }
    return {percentile(times, 0.5), percentile(times, 0.99)};
  }

  void stream(const Task& task) {
    for (std::uint64_t sent = 0; sent < task.count; ++sent) {
      while (task.window != 0 && sent >= acknowledged_ + task.window) progress_or_sleep();
      while (link_->in_flight() >= max_in_flight) progress_or_sleep();
      link_->send(UcxLink::Tag::data, payload_);
    }
    while (acknowledged_ < task.count) progress_or_sleep();
  }

  std::unique_ptr<UcxLink> link_;
  WakeUp stop_;
  std::atomic<bool> stopping_{false};
  std::thread answering_;
  std::vector<std::byte> payload_;
  std::array<std::uint64_t, 4> order_{};
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

Result<std::unique_ptr<Peer>> make_ucx_peer() {
  auto link = UcxLink::make();
  if (!link) return Failure(link.error());
  return std::make_unique<UcxPeer>(std::move(*link));
}

}  // namespace troupe::bench
