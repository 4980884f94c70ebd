// SPDX-License-Identifier: Apache-2.0
//
// The other process of the tests. Its first line of input is the cluster's secret; then one command
// a line, one line of answer each; it ends with its input.
//
//   expose memory|file read|write BYTES   -> a ref
//   withdraw                              -> yes|no, of the last ref
//   pull REF TIMEOUT_MS                   -> name of the path, or "error WHAT"
//   become UID                            -> yes|no
#include "actors/net/ucx_worker.hpp"
#include "tests/unit/actors/net/bulk/bulk_node.hpp"
#include "tests/unit/actors/net/bulk/pattern.hpp"

#include <unistd.h>

#include <iostream>
#include <sstream>

namespace troupe::test {
namespace {

class Peer {
 public:
  explicit Peer(const ClusterSecret& secret) : secret_(secret) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "expose") return expose(words);
    if (command == "withdraw") return node().bulk->store().withdraw(last_) ? "yes" : "no";
    if (command == "pull") return pull(words);
    if (command == "become") return become(words);
    return "error unknown command";
  }

 private:
  BulkNode& node() {  // started late: after `become`
    if (!node_) node_ = BulkNode::on_ucx("peer", secret_);
    return *node_;
  }

  std::string expose(std::istream& words) {
    std::string where;
    std::string right;
    std::uint64_t bytes = 0;
    words >> where >> right >> bytes;
    auto ref = where == "file" ? expose_file(bytes, right == "write")
                               : expose_memory(bytes, right == "write");
    if (!ref) return "error " + ref.error().what;
    last_ = *ref;
    return to_text(last_);
  }

  Result<BulkRef> expose_file(std::uint64_t bytes, bool writable) {
    const auto file = make_bulk_file("test", bytes + 8192);
    if (!file) return Failure(file.error());
    const auto mapping = Mapping::of(file->get(), 100, bytes, true);
    if (!mapping) return Failure(mapping.error());
    fill_pattern(mapping->bytes());
    return node().bulk->store().expose_file(file->get(), {100, bytes}, writable);
  }

  Result<BulkRef> expose_memory(std::uint64_t bytes, bool writable) {
    auto memory = std::make_shared<std::vector<std::byte>>(bytes);
    fill_pattern(*memory);
    auto& store = node().bulk->store();
    if (writable) return store.expose_writable({memory, *memory});
    return store.expose(Slice(memory, *memory));
  }

  std::string pull(std::istream& words) {
    std::string text;
    int timeout = 0;
    words >> text >> timeout;
    const auto ref = ref_from_text(text);
    std::vector<std::byte> to(ref.length);
    const BulkRange all[] = {{0, ref.length}};
    const auto done = node().bulk->reader().pull(ref, all, to, {Millis(timeout), std::nullopt});
    if (!done) return "error " + done.error().what;
    return is_pattern(to, all) ? std::string(name_of(done->path)) : "error wrong bytes";
  }

  static std::string become(std::istream& words) {
    unsigned id = 0;
    words >> id;
    return ::setgid(id) == 0 && ::setuid(id) == 0 ? "yes" : "no";
  }

  ClusterSecret secret_;
  std::unique_ptr<BulkNode> node_;
  BulkRef last_;
};

}  // namespace
}  // namespace troupe::test

int main() {
  troupe::UcxWorker::set_environment(true);
  std::string line;
  std::getline(std::cin, line);
  const auto secret = troupe::ClusterSecret::from_text(line);
  if (!secret) return 2;
  troupe::test::Peer peer(*secret);
  while (std::getline(std::cin, line)) std::cout << peer.answer(line) << std::endl;
  return 0;
}
