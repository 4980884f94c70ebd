// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/frame.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ucp_ep;
struct ucp_context;
struct ucp_worker;

namespace troupe {

/// One UCX context and worker, used for active messages that carry frames. Everything but the
/// constructor runs on one thread, the one that calls progress().
class UcxWorker {
 public:
  struct Callbacks {
    /// May this frame in, with so many bytes of payload? Asked before anything is allocated.
    std::function<bool(const FrameHeader&, std::size_t payload)> admit;
    std::function<void(Frame)> frame;
    /// Bytes that are no frame arrived (from whom is not known).
    std::function<void(const Error&)> bad;
  };

  /// Settings that UCX reads from the environment, where the user has not set them; call it at the
  /// start of main(), before there are threads. `loopback`: this process only talks to this
  /// machine.
  static void set_environment(bool loopback);

  [[nodiscard]] static Result<std::unique_ptr<UcxWorker>> make(Callbacks callbacks);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;

  [[nodiscard]] Result<std::string> address() const;
  [[nodiscard]] int event_fd() const { return event_fd_; }

  /// Moves things on; false when there was nothing to do.
  bool progress();
  /// Makes event_fd() readable at the next event; false: something happened already, progress
  /// first.
  [[nodiscard]] bool arm();

  /// Opens an endpoint; `failed` is called once, from progress(), when the peer is lost.
  [[nodiscard]] Result<ucp_ep*> open(const std::string& worker_address,
                                     std::function<void(const Error&)> failed);
  /// Closes at once; what was not sent yet is lost. Ends the endpoint's `failed`.
  void close(ucp_ep* endpoint);
  void send(ucp_ep* endpoint, Frame frame);
  /// Bytes handed to send() that UCX still holds.
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

 private:
  struct Sending;
  struct Receiving;
  struct Watch;
  struct Glue;  ///< UCX's C callbacks

  explicit UcxWorker(Callbacks callbacks);
  [[nodiscard]] Result<void> create();
  [[nodiscard]] Result<void> set_receiver();
  void receive(const FrameHeader& header, Slice body, Slice payload);
  void arrived(std::span<const std::byte> header, void* data, std::size_t length, bool rendezvous,
               int& status);

  Callbacks callbacks_;
  ucp_context* context_ = nullptr;
  ucp_worker* worker_ = nullptr;
  int event_fd_ = -1;
  std::size_t header_limit_ = 0;
  std::size_t in_flight_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace troupe
