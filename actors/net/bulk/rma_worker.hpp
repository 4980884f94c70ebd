// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_store.hpp"
#include "actors/net/bulk/byte_credits.hpp"
#include "messages/result.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

struct ucp_ep;
struct ucp_context;
struct ucp_worker;

namespace troupe {

/// What one-sided access goes over. RDMA is what it is for; cma, which the kernel offers between
/// processes of a host, takes the same calls.
enum class RmaKind : std::uint8_t { rdma, cma };

/// What a reader must know to read exposed memory by itself.
struct RmaGrant {
  std::string worker;  ///< address of the exposer's worker
  std::string key;     ///< packed remote key
  std::uint64_t address = 0;
};

/// A grant and what ends it.
struct RmaRegistration {
  RmaGrant grant;
  std::shared_ptr<const void> handle;
};

/// One-sided reads through UCX, on a context and worker of their own that know no tcp: whoever can
/// send to a worker with this feature can make it write anywhere, so it is used on fabrics that are
/// trusted, and only on request. Safe from any thread.
class RmaWorker {
 public:
  /// Errors: unavailable where there is no such device.
  [[nodiscard]] static Result<std::unique_ptr<RmaWorker>> make(RmaKind kind);
  /// The kind that the environment asks for by TROUPE_RMA=rdma|cma, if it is there.
  [[nodiscard]] static std::unique_ptr<RmaWorker> from_environment();
  ~RmaWorker();
  RmaWorker(const RmaWorker&) = delete;

  /// Registers memory for others to read; what it gives must go before the memory and the worker.
  [[nodiscard]] Result<RmaRegistration> grant(const BulkMemory& memory);
  /// Reads `to.size()` bytes at `offset` of granted memory. Errors: unavailable, timeout.
  [[nodiscard]] Result<void> get(const RmaGrant& grant, std::uint64_t offset,
                                 std::span<std::byte> to, Deadline deadline);

 private:
  struct Glue;
  RmaWorker() = default;
  [[nodiscard]] Result<void> open(RmaKind kind);
  [[nodiscard]] Result<ucp_ep*> endpoint_to(const std::string& worker);
  void close(const std::string& worker);
  void run();

  bool with_errors_ = false;  ///< endpoints report a peer's death; cma's cannot
  ucp_context* context_ = nullptr;
  ucp_worker* worker_ = nullptr;
  int event_fd_ = -1;
  std::string address_;
  WakeUp stop_;
  std::thread thread_;  ///< answers connections of others
  std::mutex mutex_;    ///< one read at a time: a late one closes its endpoint
  std::map<std::string, ucp_ep*> endpoints_;
};

}  // namespace troupe
