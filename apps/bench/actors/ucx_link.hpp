// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

typedef struct ucp_context* ucp_context_h;
typedef struct ucp_worker* ucp_worker_h;
typedef struct ucp_ep* ucp_ep_h;

namespace troupe::bench {

/// UCX with nothing on top: a worker set up as the transport's is (actors/net/ucx_worker.cpp), one
/// endpoint, active messages without header into memory that is there already. Used by one thread
/// at a time.
class UcxLink {
 public:
  enum class Tag : unsigned { order = 1, data, ack };
  /// A message has arrived whole. Large data is not in `bytes`: only `size` tells of it.
  using OnMessage =
      std::function<void(Tag tag, std::span<const std::byte> bytes, std::size_t size)>;

  [[nodiscard]] static Result<std::unique_ptr<UcxLink>> make();
  ~UcxLink();
  UcxLink(const UcxLink&) = delete;

  void on_message(OnMessage call) { on_message_ = std::move(call); }
  [[nodiscard]] Result<std::string> address() const;
  [[nodiscard]] Result<void> connect(const std::string& address);

  /// The bytes must stay until they are sent, so they are of the caller's own, long-lived memory.
  void send(Tag tag, std::span<const std::byte> bytes);
  /// Sends out of memory of the link's own.
  void send_number(Tag tag, std::uint64_t number);
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// Makes large data land in that many buffers, one after the other.
  void expect_large(std::size_t bytes, std::size_t buffers);

  bool progress();
  /// Sleeps until something can have happened, here or at `other_fd`.
  void sleep(int other_fd);

 private:
  struct Glue;
  UcxLink() = default;
  [[nodiscard]] Result<void> create();
  [[nodiscard]] Result<void> set_receiver(Tag tag);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  int event_fd_ = -1;
  OnMessage on_message_;
  std::size_t in_flight_ = 0;
  std::vector<std::vector<std::byte>> buffers_;
  std::size_t next_buffer_ = 0;
  std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(4096);
  std::size_t next_number_ = 0;
};

}  // namespace troupe::bench
