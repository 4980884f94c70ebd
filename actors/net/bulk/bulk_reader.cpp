// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_reader.hpp"

#include "actors/net/bulk/this_host.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t threads_for_later = 2;
constexpr std::uint64_t worth_one_side = 65536;
constexpr std::size_t most_peers = 1024;  // remembered, as long as nobody uses more at once

Deadline deadline_of(const BulkOptions& options) {
  return std::chrono::steady_clock::now() + options.timeout;
}

Result<void> check_length(const BulkRef& ref, std::span<const BulkRange> ranges,
                          std::uint64_t bytes) {
  const auto total = total_of(ranges, ref.length);
  if (!total) return Failure(total.error());
  if (*total == bytes) return {};
  return fail(ErrorCode::invalid_argument, "ranges of " + std::to_string(*total) +
                                               " bytes for memory of " + std::to_string(bytes));
}

}  // namespace

std::string_view name_of(BulkPath path) {
  constexpr std::string_view names[bulk_path_count] = {"memory", "memfd", "cma", "rma", "message"};
  return names[static_cast<std::size_t>(path)];
}

BulkReader::BulkReader(const BulkStore& own, BulkMessages& messages, std::uint64_t credit)
    : own_(own),
      messages_(messages),
      credit_(credit),
      host_(host_token()),
      later_(threads_for_later) {}

std::shared_ptr<BulkReader::Peer> BulkReader::peer_of(const BulkRef& ref) {
  const std::lock_guard lock(mutex_);
  auto& peer = peers_[ref.store];
  if (!peer) {
    peer = std::make_shared<Peer>(credit_);
    if (peers_.size() > most_peers) {
      std::erase_if(peers_, [](const auto& entry) { return entry.second.use_count() == 1; });
      return peers_.emplace(ref.store, std::make_shared<Peer>(credit_)).first->second;
    }
  }
  return peer;
}

Result<BulkDone> BulkReader::pull(const BulkRef& ref, std::span<const BulkRange> ranges,
                                  std::span<std::byte> to, const BulkOptions& options) {
  if (auto ok = check_length(ref, ranges, to.size()); !ok) return Failure(ok.error());
  const auto peer = peer_of(ref);
  const BulkJob job{ref, ranges, to, {}, false, deadline_of(options), peer->credits};
  return count(carry_out(job, *peer, options), to.size());
}

Result<BulkDone> BulkReader::push(const BulkRef& ref, std::span<const BulkRange> ranges, Slice from,
                                  const BulkOptions& options) {
  if (auto ok = check_length(ref, ranges, from.size()); !ok) return Failure(ok.error());
  const auto peer = peer_of(ref);
  const auto bytes = from.size();
  const BulkJob job{ref, ranges, {}, std::move(from), true, deadline_of(options), peer->credits};
  return count(carry_out(job, *peer, options), bytes);
}

Result<Slice> BulkReader::fetch(const BulkRef& ref, const BulkOptions& options) {
  const auto peer = peer_of(ref);
  const bool far = ref.store != own_.id() && !is_near(ref, *peer);
  const bool one_sided = messages_.has_rma() && !peer->two_sided && ref.length >= worth_one_side;
  if (far && !one_sided && !options.only && ref.length > 0 &&
      ref.length <= BulkMessages::piece_bytes) {
    auto whole = messages_.fetch({ref, {}, {}, {}, false, deadline_of(options), peer->credits});
    (void)count(whole ? Result<BulkPath>(BulkPath::message) : Failure(whole.error()), ref.length);
    return whole;
  }
  if (ref.length > max_blob_bytes) {
    return fail(ErrorCode::resource_exhausted,
                std::to_string(ref.length) + " bytes are too many to take at once");
  }
  // 64: so that vector code and Cap'n Proto read it in place.
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(std::aligned_alloc(64, (ref.length + 64) / 64 * 64)), &std::free);
  if (!memory) return fail(ErrorCode::resource_exhausted, "no memory for exposed bytes");
  const std::span<std::byte> to(memory.get(), ref.length);
  const BulkRange all[] = {{0, ref.length}};
  if (auto done = pull(ref, all, to, options); !done) return Failure(done.error());
  return Slice(memory, to);
}

bool BulkReader::is_near(const BulkRef& ref, const Peer& peer) const {
  return host_ != 0 && ref.host == host_ && !peer.closed;
}

Result<BulkPath> BulkReader::carry_out(const BulkJob& job, Peer& peer, const BulkOptions& options) {
  const auto only = options.only;
  if (only == BulkPath::memory || (!only && job.ref.store == own_.id())) return within_process(job);
  const bool direct = only == BulkPath::file || only == BulkPath::cma;
  if (direct || (!only && is_near(job.ref, peer))) {
    auto done = on_this_host(job, peer, only);
    if (done || only || done.error().code != ErrorCode::permission_denied) return done;
    if (job.write && !job.ref.writable) return done;
    if (job.ref.node.name.empty()) return done;
    peer.closed = true;
  }
  return through_network(job, peer, only);
}

Result<BulkPath> BulkReader::through_network(const BulkJob& job, Peer& peer,
                                             std::optional<BulkPath> only) {
  const bool one_sided = !job.write && messages_.has_rma() && !peer.two_sided &&
                         job.bytes() >= worth_one_side && !only;
  if (one_sided || only == BulkPath::rma) {
    if (job.write) return fail(ErrorCode::invalid_argument, "one-sided access is for pulling");
    auto done = messages_.carry_out_one_sided(job);
    if (done) return BulkPath::rma;
    if (only || done.error().code != ErrorCode::permission_denied) return Failure(done.error());
    peer.two_sided = true;
  }
  if (auto ok = messages_.carry_out(job); !ok) return Failure(ok.error());
  return BulkPath::message;
}

Result<BulkPath> BulkReader::within_process(const BulkJob& job) const {
  const auto memory = own_.find(job.ref.slot, job.ref.key, job.write);
  if (!memory) return Failure(memory.error());
  if (auto ok = total_of(job.ranges, memory->bytes.size()); !ok) return Failure(ok.error());
  const auto* from = job.from.data();
  auto* to = job.to.data();
  for (const auto& range : job.ranges) {
    if (range.length == 0) continue;
    auto* exposed = memory->bytes.data() + range.offset;
    if (job.write) {
      std::memcpy(exposed, from, range.length);
      from += range.length;
    } else {
      std::memcpy(to, exposed, range.length);
      to += range.length;
    }
  }
  if (!memory->immutable && !own_.find(job.ref.slot, job.ref.key, job.write)) {
    return fail(ErrorCode::aborted, "the memory was withdrawn while it was being copied");
  }
  return BulkPath::memory;
}

Result<BulkPath> BulkReader::on_this_host(const BulkJob& job, Peer& peer,
                                          std::optional<BulkPath> only) {
  std::shared_ptr<OtherProcess> process;
  {
    const std::lock_guard lock(peer.mutex);
    if (!peer.process || !peer.process->is(job.ref)) {
      auto met = OtherProcess::meet(job.ref);
      if (!met) return Failure(met.error());
      peer.process = std::move(*met);
    }
    process = peer.process;
  }
  return process->carry_out(job, only);
}

Result<BulkDone> BulkReader::count(Result<BulkPath> path, std::uint64_t bytes) {
  if (!path) {
    ++failed_;
    return Failure(path.error());
  }
  auto& count = counts_[static_cast<std::size_t>(*path)];
  ++count.transfers;
  count.bytes += bytes;
  return BulkDone{*path, bytes};
}

void BulkReader::pull_later(BulkRef ref, std::vector<BulkRange> ranges, BulkMemory to,
                            Callback done, BulkOptions options) {
  later_.add([this, ref = std::move(ref), ranges = std::move(ranges), to = std::move(to),
              done = std::move(done), options] { done(pull(ref, ranges, to.bytes, options)); });
}

void BulkReader::push_later(BulkRef ref, std::vector<BulkRange> ranges, Slice from, Callback done,
                            BulkOptions options) {
  later_.add([this, ref = std::move(ref), ranges = std::move(ranges), from = std::move(from),
              done = std::move(done), options] { done(push(ref, ranges, from, options)); });
}

std::future<Result<BulkDone>> BulkReader::pull_later(BulkRef ref, std::vector<BulkRange> ranges,
                                                     BulkMemory to, BulkOptions options) {
  auto promise = std::make_shared<std::promise<Result<BulkDone>>>();
  pull_later(
      std::move(ref), std::move(ranges), std::move(to),
      [promise](Result<BulkDone> done) { promise->set_value(std::move(done)); }, options);
  return promise->get_future();
}

std::future<Result<BulkDone>> BulkReader::push_later(BulkRef ref, std::vector<BulkRange> ranges,
                                                     Slice from, BulkOptions options) {
  auto promise = std::make_shared<std::promise<Result<BulkDone>>>();
  push_later(
      std::move(ref), std::move(ranges), std::move(from),
      [promise](Result<BulkDone> done) { promise->set_value(std::move(done)); }, options);
  return promise->get_future();
}

BulkCounters BulkReader::counters() const {
  BulkCounters now;
  for (std::size_t i = 0; i < bulk_path_count; ++i) {
    now.paths[i] = {counts_[i].transfers, counts_[i].bytes};
  }
  now.failed = failed_;
  return now;
}

}  // namespace troupe
