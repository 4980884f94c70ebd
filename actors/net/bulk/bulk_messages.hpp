// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_job.hpp"
#include "actors/net/bulk/bulk_store.hpp"
#include "actors/net/bulk/rma_worker.hpp"
#include "actors/net/transport.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace troupe {

struct BulkRequest;

/// Bulk data by frames: asks other nodes for what they expose, and answers what they ask of this
/// one. Asking is safe from any thread and blocks it; answering happens on the transport's thread
/// and copies nothing but small scattered ranges.
class BulkMessages {
 public:
  explicit BulkMessages(BulkStore& store) : store_(store) {}

  /// The transport has started. `rma`: what grants and makes one-sided reads; nullptr: nothing.
  void attach(Transport& transport, RmaWorker* rma);
  /// Nothing is sent any more; who waits gets an error.
  void detach();

  /// Errors: those of the exposing side; unavailable where its node cannot be reached or dies.
  [[nodiscard]] Result<void> carry_out(const BulkJob& job);
  /// A whole exposure as it came, without copying it once more.
  [[nodiscard]] Result<Slice> fetch(const BulkJob& job);
  /// A pull by one-sided reads, which the exposing node grants and in the end confirms. Errors:
  /// also permission_denied where one of the two has no RmaWorker.
  [[nodiscard]] Result<void> carry_out_one_sided(const BulkJob& job);
  [[nodiscard]] bool has_rma() const { return rma_ != nullptr; }
  /// One message carries at most so much.
  static constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20;

  void on_peer_up(const PeerInfo& peer);
  void on_peer_down(const NodeId& peer, const Error& why);
  void on_connect_failed(const Address& to, const Error& why);
  /// Takes a frame of kind bulk_request or bulk_answer.
  void on_frame(const NodeId& from, Frame frame);

 private:
  /// A question that has been sent.
  struct Asked {
    NodeId of;
    std::optional<std::uint64_t> bytes;  ///< that the answer must carry; none: any
    std::optional<Result<Slice>> answer;
  };
  using Question = std::pair<std::uint64_t, std::shared_ptr<Asked>>;

  struct Call {  ///< to an address, while somebody waits for the node there
    int waiting = 0;
    std::optional<Error> failed;
  };

  [[nodiscard]] Result<void> reach(const BulkRef& ref, Deadline deadline);
  [[nodiscard]] Result<Question> ask(const BulkJob& job, const BulkBatch& batch);
  [[nodiscard]] Result<Question> send_question(const NodeId& to, Frame frame,
                                               std::optional<std::uint64_t> bytes);
  [[nodiscard]] Result<RmaGrant> ask_for_grant(const BulkJob& job);
  [[nodiscard]] Result<Slice> wait(const Question& question, Deadline deadline);
  void forget(const Question& question);
  void fail_all(const std::function<bool(const Asked&)>& whose, const Error& why);
  void serve(const NodeId& from, const Frame& frame);
  [[nodiscard]] Result<Slice> carry_out_for(const NodeId& from, const Frame& frame);
  [[nodiscard]] Result<Slice> read_for(const NodeId& from, const BulkMemory& memory,
                                       const BulkBatch& batch);
  [[nodiscard]] Result<Slice> grant_for(const BulkRequest& request, const BulkMemory& memory);
  void take_answer(const NodeId& from, const Frame& frame);

  BulkStore& store_;
  std::atomic<RmaWorker*> rma_{nullptr};
  std::mutex mutex_;
  std::condition_variable changed_;
  Transport* transport_ = nullptr;
  std::set<NodeId> up_;
  std::set<NodeId> gone_;
  std::map<Address, Call> calls_;
  std::uint64_t next_question_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Asked>> asked_;
  std::map<NodeId, std::shared_ptr<std::atomic<std::uint64_t>>> answering_;  ///< bytes, by peer
};

}  // namespace troupe
