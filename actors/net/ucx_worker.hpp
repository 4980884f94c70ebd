// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/wire/buffer_pool.hpp"
#include "actors/net/wire/frame_codec.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ucp_ep;
struct ucp_context;
struct ucp_worker;

namespace troupe {

/// One UCX context and worker, used for active messages. Everything but the constructor runs on one
/// thread, the one that calls progress().
class UcxWorker {
 public:
  struct Callbacks {
    /// May this message in, with so many bytes of payload? Asked before anything is allocated.
    /// Gives what counts its sender's payloads while they are on their way, or nothing.
    std::function<std::shared_ptr<std::size_t>(std::span<const std::byte> header,
                                               std::size_t payload)>
        admit;
    std::function<void(Buffer header, Buffer payload)> message;
    /// A message that was let in cannot be had: there is no memory for it.
    std::function<void(std::span<const std::byte> header, const Error&)> bad;
  };

  /// Settings that UCX reads from the environment, where the user has not set them; call it at the
  /// start of main(), before there are threads. `loopback`: this process only talks to this
  /// machine. UCX_TLS is "tcp" unless the user chose otherwise: all nodes must be able to reach
  /// each other by it ("posix" on one machine, "posix,tcp" on several).
  static void set_environment(bool loopback);

  [[nodiscard]] static Result<std::unique_ptr<UcxWorker>> make(Callbacks callbacks);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;

  [[nodiscard]] Result<std::string> address() const;
  [[nodiscard]] int event_fd() const { return event_fd_; }
  /// The longest header that send() takes.
  [[nodiscard]] std::size_t header_limit() const { return header_limit_; }

  /// Moves things on; false when there was nothing to do.
  bool progress();
  /// Makes event_fd() readable at the next event; false: something happened already, progress
  /// first.
  [[nodiscard]] bool arm();
  /// It cannot be armed, and still nothing happens: over shared memory UCX stays like that when a
  /// peer was killed in the middle of something. What comes is seen by progress() alone.
  [[nodiscard]] bool only_seems_busy() const { return idle_turns_ > 100; }

  /// Opens an endpoint; `failed` is called once, from progress(), when the peer is lost.
  [[nodiscard]] Result<ucp_ep*> open(const std::string& worker_address,
                                     std::function<void(const Error&)> failed);
  /// Closes at once; what was not sent yet is lost. Ends the endpoint's `failed`.
  void close(ucp_ep* endpoint);
  /// `held` is raised by the message's size until UCX has done with it.
  void send(ucp_ep* endpoint, Sealed message, std::shared_ptr<std::size_t> held);

 private:
  struct Sending;
  struct Receiving;
  struct Watch;
  struct Glue;  ///< UCX's C callbacks

  explicit UcxWorker(Callbacks callbacks);
  [[nodiscard]] Result<void> create();
  [[nodiscard]] Result<void> set_receiver();
  [[nodiscard]] int arrived(std::span<const std::byte> header, void* data, std::size_t length,
                            bool rendezvous);
  [[nodiscard]] int fetch(Buffer header, void* data, std::size_t length,
                          std::shared_ptr<std::size_t> on_its_way);

  Callbacks callbacks_;
  BufferPool pool_;
  ucp_context* context_ = nullptr;
  ucp_worker* worker_ = nullptr;
  int event_fd_ = -1;
  std::size_t header_limit_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::uint64_t idle_turns_ = 0;  ///< since something moved, though UCX was busy
  std::size_t outstanding_ = 0;   ///< messages that UCX has not sent, delivered or given up yet
};

}  // namespace troupe
