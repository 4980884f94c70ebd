// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/bulk_source.hpp"

#include "actors/net/bulk/mapping.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace troupe::bench {
namespace {

constexpr std::uint64_t exposed_bytes = std::uint64_t{64} << 20;
constexpr auto content = std::byte{7};

void write(std::ostream& out, const BulkRef& ref) {
  out << ref.host << ' ' << ref.pid << ' ' << ref.started << ' ' << ref.table << ' ' << ref.store
      << ' ' << ref.slot << ' ' << ref.key << ' ' << ref.length << ' ';
}

BulkRef read(std::istream& in, const NodeId& node, const Address& control) {
  BulkRef ref;
  ref.node = node;
  ref.control = control;
  in >> ref.host >> ref.pid >> ref.started >> ref.table >> ref.store >> ref.slot >> ref.key >>
      ref.length;
  return ref;
}

Result<BulkRef> expose_file(BulkStore& store) {
  const auto file = make_bulk_file("troupe-bench", exposed_bytes);
  if (!file) return Failure(file.error());
  auto mapped = Mapping::of(file->get(), 0, exposed_bytes, true);
  if (!mapped) return Failure(mapped.error());
  std::fill(mapped->bytes().begin(), mapped->bytes().end(), content);  // pages that are there
  return store.expose_file(file->get(), {0, exposed_bytes}, false);
}

BulkPath path_of(Work work) {
  if (work == Work::pull_memfd) return BulkPath::file;
  return work == Work::pull_cma ? BulkPath::cma : BulkPath::message;
}

}  // namespace

Result<std::string> BulkSource::expose(BulkStore& store) {
  const auto file = expose_file(store);
  if (!file) return Failure(file.error());
  const auto memory = store.expose(Slice::own(std::vector<std::byte>(exposed_bytes, content)));
  if (!memory) return Failure(memory.error());
  std::ostringstream out;
  write(out, *file);
  write(out, *memory);
  return out.str();
}

Result<BulkSource> BulkSource::import(const std::string& exposed, const NodeId& node,
                                      const Address& control) {
  std::istringstream in(exposed);
  BulkSource source;
  source.file_ = read(in, node, control);
  source.memory_ = read(in, node, control);
  if (!in) return fail(ErrorCode::corrupt, "'" + exposed + "' is not what was exposed");
  source.to_.resize(exposed_bytes);
  return source;
}

Result<double> BulkSource::pull(BulkReader& reader, const Task& task) {
  if (task.bytes > to_.size()) return fail(ErrorCode::invalid_argument, "more than is exposed");
  const auto& ref = task.work == Work::pull_memfd ? file_ : memory_;
  const std::span to(to_.data(), task.bytes);
  const BulkRange whole[] = {{0, task.bytes}};
  BulkOptions options;
  options.only = path_of(task.work);
  to.back() = {};
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < task.count; ++i) {
    if (auto done = reader.pull(ref, whole, to, options); !done) return Failure(done.error());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (to.back() != content) return fail(ErrorCode::corrupt, "other bytes than were exposed");
  return took.count();
}

}  // namespace troupe::bench
