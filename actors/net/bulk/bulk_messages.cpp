// SPDX-License-Identifier: Apache-2.0
//
// A job is cut into pieces, and some of them are asked for at once: while one is copied to where it
// belongs, by the thread that wants it, the next are on their way. Whoever holds credits never
// waits for more of them, he takes in what he has asked for first; so nobody waits for ever.
#include "actors/net/bulk/bulk_messages.hpp"

#include "actors/net/bulk/bulk_wire.hpp"

#include <cstring>
#include <deque>
#include <string>

namespace troupe {
namespace {

constexpr std::size_t most_at_once = 4;                             // pieces of a job
constexpr std::uint64_t most_answering = std::uint64_t{256} << 20;  // bytes to one peer
constexpr BatchLimits pieces{BulkMessages::piece_bytes, 256, 65536};

/// Counts the bytes of an answer until the transport has sent it.
class Counted {
 public:
  Counted(std::shared_ptr<const void> owner, std::shared_ptr<std::atomic<std::uint64_t>> count,
          std::uint64_t bytes)
      : owner_(std::move(owner)), count_(std::move(count)), bytes_(bytes) {
    *count_ += bytes_;
  }
  ~Counted() { *count_ -= bytes_; }
  Counted(const Counted&) = delete;

 private:
  std::shared_ptr<const void> owner_;
  std::shared_ptr<std::atomic<std::uint64_t>> count_;
  std::uint64_t bytes_;
};

}  // namespace

void BulkMessages::attach(Transport& transport, RmaWorker* rma) {
  rma_ = rma;
  const std::lock_guard lock(mutex_);
  transport_ = &transport;
}

void BulkMessages::detach() {
  {
    const std::lock_guard lock(mutex_);
    transport_ = nullptr;
  }
  fail_all([](const Asked&) { return true; }, {ErrorCode::aborted, "this node is stopping"});
}

Result<void> BulkMessages::reach(const BulkRef& ref, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (ref.node.name.empty()) {
    return fail(ErrorCode::unavailable, "no node answers for this memory");
  }
  if (transport_ != nullptr && up_.contains(ref.node)) return {};
  auto& call = calls_[ref.control];
  if (call.waiting++ == 0) call.failed.reset();
  if (transport_ != nullptr && !gone_.contains(ref.node)) {
    transport_->connect(ref.control, ref.node);
  }
  changed_.wait_until(lock, deadline, [&] {
    return transport_ == nullptr || up_.contains(ref.node) || gone_.contains(ref.node) ||
           call.failed;
  });
  const auto failed = call.failed;
  if (--call.waiting == 0) calls_.erase(ref.control);
  if (transport_ == nullptr) return fail(ErrorCode::aborted, "this node is stopping");
  if (up_.contains(ref.node)) return {};
  if (gone_.contains(ref.node)) {
    return fail(ErrorCode::unavailable, "node " + to_string(ref.node) + " is gone");
  }
  if (failed) return Failure(*failed);
  return fail(ErrorCode::timeout,
              "node " + to_string(ref.node) + " does not answer at " + to_string(ref.control));
}

Result<BulkMessages::Question> BulkMessages::ask(const BulkJob& job, const BulkBatch& batch) {
  Frame frame;
  frame.body = write_request(job.ref, job.write, batch);
  if (job.write) {
    const auto bytes = job.from.bytes().subspan(batch.at, batch.bytes);
    frame.blob = Slice(std::make_shared<const Slice>(job.from), bytes);
  }
  return send_question(job.ref.node, std::move(frame), job.write ? 0 : batch.bytes);
}

Result<BulkMessages::Question> BulkMessages::send_question(const NodeId& to, Frame frame,
                                                           std::optional<std::uint64_t> bytes) {
  frame.header.kind = FrameKind::bulk_request;
  frame.header.type = capnp::typeId<msg::BulkRequest>();
  auto asked = std::make_shared<Asked>();
  asked->of = to;
  asked->bytes = bytes;
  const std::lock_guard lock(mutex_);
  if (transport_ == nullptr || !up_.contains(to)) {
    return fail(ErrorCode::unavailable, "node " + to_string(to) + " is gone");
  }
  const auto number = next_question_++;
  frame.header.message_id = number;
  asked_.emplace(number, asked);
  (void)transport_->send(to, std::move(frame));  // not data: always taken
  return Question(number, std::move(asked));
}

Result<Slice> BulkMessages::wait(const Question& question, Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto& answer = question.second->answer;
  if (!changed_.wait_until(lock, deadline, [&] { return answer.has_value(); })) {
    asked_.erase(question.first);
    return fail(ErrorCode::timeout,
                "node " + to_string(question.second->of) + " has not sent the bytes in time");
  }
  return std::move(*answer);
}

void BulkMessages::forget(const Question& question) {
  const std::lock_guard lock(mutex_);
  asked_.erase(question.first);
}

Result<void> BulkMessages::carry_out(const BulkJob& job) {
  struct OnItsWay {
    Question question;
    const BulkBatch* batch;
    ByteCredits::Held held;
  };
  if (auto ok = reach(job.ref, job.deadline); !ok) return ok;
  const auto batches = in_batches(job.ranges, pieces);
  std::deque<OnItsWay> on_its_way;
  Result<void> result;
  for (std::size_t next = 0; next < batches.size() || !on_its_way.empty();) {
    if (next < batches.size() && on_its_way.size() < most_at_once) {
      const auto until = on_its_way.empty() ? job.deadline : Deadline{};
      if (auto held = job.credits.take(batches[next].bytes, until)) {
        auto question = ask(job, batches[next]);
        if (!question) result = Failure(question.error());
        if (!question) break;
        on_its_way.push_back({std::move(*question), &batches[next++], std::move(*held)});
        continue;
      } else if (on_its_way.empty()) {
        return Failure(held.error());
      }
    }
    const auto first = std::move(on_its_way.front());
    on_its_way.pop_front();
    const auto answer = wait(first.question, job.deadline);
    if (!answer) result = Failure(answer.error());
    if (!answer) break;
    if (!job.write) std::memcpy(job.to.data() + first.batch->at, answer->data(), answer->size());
  }
  for (const auto& left : on_its_way) forget(left.question);
  return result;
}

Result<Slice> BulkMessages::fetch(const BulkJob& job) {
  if (auto ok = reach(job.ref, job.deadline); !ok) return Failure(ok.error());
  const auto held = job.credits.take(job.ref.length, job.deadline);
  if (!held) return Failure(held.error());
  const auto question = ask(job, {{{0, job.ref.length}}, 0, job.ref.length});
  if (!question) return Failure(question.error());
  return wait(*question, job.deadline);
}

Result<RmaGrant> BulkMessages::ask_for_grant(const BulkJob& job) {
  Frame frame;
  frame.body = write_grant_request(job.ref);
  const auto question = send_question(job.ref.node, std::move(frame), std::nullopt);
  if (!question) return Failure(question.error());
  const auto answer = wait(*question, job.deadline);
  if (!answer) return Failure(answer.error());
  return read_grant(*answer);
}

Result<void> BulkMessages::carry_out_one_sided(const BulkJob& job) {
  auto* const rma = rma_.load();
  if (rma == nullptr) return fail(ErrorCode::permission_denied, "no one-sided access here");
  if (auto ok = reach(job.ref, job.deadline); !ok) return ok;
  const auto grant = ask_for_grant(job);
  if (!grant) return Failure(grant.error());
  std::uint64_t at = 0;
  for (const auto& range : job.ranges) {
    const auto held = job.credits.take(range.length, job.deadline);
    if (!held) return Failure(held.error());
    const auto to = job.to.subspan(at, range.length);
    if (auto ok = rma->get(*grant, range.offset, to, job.deadline); !ok) return ok;
    at += range.length;
  }
  // A request for nothing says whether it is still exposed: if not, what was read may be anything.
  const auto still = ask(job, {});
  if (!still) return Failure(still.error());
  const auto answer = wait(*still, job.deadline);
  return answer ? Result<void>() : Failure(answer.error());
}

void BulkMessages::fail_all(const std::function<bool(const Asked&)>& whose, const Error& why) {
  const std::lock_guard lock(mutex_);
  std::erase_if(asked_, [&](auto& entry) {
    const bool hit = whose(*entry.second);
    if (hit) entry.second->answer = Failure(why);
    return hit;
  });
  changed_.notify_all();
}

void BulkMessages::on_peer_up(const PeerInfo& peer) {
  const std::lock_guard lock(mutex_);
  up_.insert(peer.id);
  changed_.notify_all();
}

void BulkMessages::on_peer_down(const NodeId& peer, const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    up_.erase(peer);
    gone_.insert(peer);
    answering_.erase(peer);
  }
  fail_all([&](const Asked& asked) { return asked.of == peer; },
           {ErrorCode::unavailable, "node " + to_string(peer) + " is down: " + why.what});
}

void BulkMessages::on_connect_failed(const Address& to, const Error& why) {
  const std::lock_guard lock(mutex_);
  const auto call = calls_.find(to);
  if (call == calls_.end()) return;
  call->second.failed = why;
  changed_.notify_all();
}

void BulkMessages::on_frame(const NodeId& from, Frame frame) {
  if (frame.header.kind == FrameKind::bulk_request) return serve(from, frame);
  take_answer(from, frame);
}

void BulkMessages::take_answer(const NodeId& from, const Frame& frame) {
  auto said = read_answer(frame.body.bytes());
  const std::lock_guard lock(mutex_);
  const auto it = asked_.find(frame.header.message_id);
  if (it == asked_.end() || it->second->of != from) return;  // given up, or not asked
  auto& asked = *it->second;
  if (!said) {
    asked.answer = Failure(said.error());
  } else if (asked.bytes && frame.blob.size() != *asked.bytes) {
    asked.answer =
        fail(ErrorCode::corrupt, std::to_string(frame.blob.size()) + " bytes came where " +
                                     std::to_string(*asked.bytes) + " were asked for");
  } else {
    asked.answer = frame.blob;
  }
  asked_.erase(it);
  changed_.notify_all();
}

void BulkMessages::serve(const NodeId& from, const Frame& frame) {
  const auto answer = carry_out_for(from, frame);
  Frame reply;
  reply.header.kind = FrameKind::bulk_answer;
  reply.header.type = capnp::typeId<msg::BulkAnswer>();
  reply.header.message_id = frame.header.message_id;
  reply.body = write_answer(answer);
  if (answer) reply.blob = *answer;
  const std::lock_guard lock(mutex_);
  if (transport_ != nullptr) (void)transport_->send(from, std::move(reply));
}

Result<Slice> BulkMessages::carry_out_for(const NodeId& from, const Frame& frame) {
  const auto request = read_request(frame.body.bytes());
  if (!request) return Failure(request.error());
  const auto memory = store_.find(request->slot, request->key, request->write);
  if (!memory) return Failure(memory.error());
  const auto& batch = request->batch;
  if (auto ok = total_of(batch.ranges, memory->bytes.size()); !ok) return Failure(ok.error());
  if (request->grant) return grant_for(*request, *memory);
  if (!request->write) {
    auto read = read_for(from, *memory, batch);
    if (memory->immutable || !read) return read;
    // Copied while it may have been withdrawn and changed.
    const auto still = store_.find(request->slot, request->key, false);
    return still ? read : Failure(still.error());
  }
  if (frame.blob.size() != batch.bytes) {
    return fail(ErrorCode::invalid_argument, "the bytes to write are not as many as the ranges");
  }
  const auto* next = frame.blob.data();
  for (const auto& range : batch.ranges) {
    if (range.length > 0) std::memcpy(memory->bytes.data() + range.offset, next, range.length);
    next += range.length;
  }
  return Slice();
}

Result<Slice> BulkMessages::grant_for(const BulkRequest& request, const BulkMemory& memory) {
  auto* const rma = rma_.load();
  if (rma == nullptr) return fail(ErrorCode::permission_denied, "no one-sided access here");
  auto registration = store_.kept(request.slot, request.key);
  if (!registration) {
    auto made = rma->grant(memory);
    if (!made) return fail(ErrorCode::permission_denied, made.error().what);
    registration = std::make_shared<const RmaRegistration>(std::move(*made));
    store_.keep(request.slot, request.key, registration);
  }
  return write_grant(registration->grant);
}

Result<Slice> BulkMessages::read_for(const NodeId& from, const BulkMemory& memory,
                                     const BulkBatch& batch) {
  std::shared_ptr<std::atomic<std::uint64_t>> count;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = answering_[from];
    if (!slot) slot = std::make_shared<std::atomic<std::uint64_t>>(0);
    count = slot;
  }
  if (*count + batch.bytes > most_answering) {
    return fail(ErrorCode::resource_exhausted, "too many bytes are on their way to this node");
  }
  auto owner = memory.owner;
  std::span<const std::byte> bytes;
  if (batch.ranges.size() == 1 && memory.immutable) {
    bytes = memory.bytes.subspan(batch.ranges[0].offset, batch.ranges[0].length);
  } else {
    auto gathered = std::make_shared<std::vector<std::byte>>();
    gathered->reserve(batch.bytes);
    for (const auto& range : batch.ranges) {
      const auto part = memory.bytes.subspan(range.offset, range.length);
      gathered->insert(gathered->end(), part.begin(), part.end());
    }
    bytes = *gathered;
    owner = std::move(gathered);
  }
  return Slice(std::make_shared<const Counted>(std::move(owner), std::move(count), bytes.size()),
               bytes);
}

}  // namespace troupe
