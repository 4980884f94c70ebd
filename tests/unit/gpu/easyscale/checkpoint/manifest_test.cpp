// SPDX-License-Identifier: Apache-2.0
#include "actors/net/crypto.hpp"
#include "gpu/easyscale/checkpoint/manifest_link.hpp"
#include "messages/checkpoint.capnp.h"
#include "tests/support/scratch.hpp"
#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <functional>

namespace troupe::easyscale {
namespace {

using test::has;

Manifest whole() {
  const troupe::test::Scratch scratch;
  return test::write_one(scratch / "one", 40, 100);
}

Result<Manifest> decode(const std::string& bytes) {
  return decode_manifest(std::as_bytes(std::span(bytes)));
}

BOOST_AUTO_TEST_CASE(a_manifest_is_read_as_it_was_written) {
  const Manifest manifest = whole();
  const auto read = decode(encode(manifest));
  BOOST_REQUIRE_MESSAGE(read, troupe::test::why(read));
  BOOST_TEST((read->identity == manifest.identity));
  BOOST_TEST((read->files == manifest.files));
  BOOST_TEST((read->tensors == manifest.tensors));
  BOOST_TEST((read->rank_records == manifest.rank_records));
  BOOST_TEST(read->step == 40U);
  BOOST_TEST(read->epoch() == 1U);
  BOOST_TEST(read->steps == 44U);
  BOOST_TEST(read->optimizer == "adam");
  BOOST_TEST(read->fingerprint == "torch 1");
  BOOST_TEST(read->version == "0.1.0");
  BOOST_TEST(read->block_size == manifest.block_size);
}

BOOST_AUTO_TEST_CASE(any_changed_byte_is_noticed) {
  const std::string good = encode(whole());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\x01', '\x80'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const auto read = decode(bad);
      if (!read) continue;
      // Padding and the version of the program that wrote it are not hashed; nothing else may
      // differ.
      BOOST_TEST((read->tensors == whole().tensors), at);
      BOOST_TEST(read->step == 40U, at);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_manifest_cut_short_anywhere_is_refused) {
  const std::string good = encode(whole());
  for (std::size_t size = 0; size < good.size(); ++size) {
    BOOST_TEST(!decode(good.substr(0, size)), size);
  }
  BOOST_TEST(!decode(good + std::string(8, '\0')));
}

std::string with_header(const std::function<void(msg::CheckpointHeader::Builder)>& change) {
  capnp::MallocMessageBuilder body;
  body.initRoot<msg::CheckpointManifest>();
  const auto words = capnp::messageToFlatArray(body);
  const auto bytes = words.asBytes();
  capnp::MallocMessageBuilder head;
  auto header = head.initRoot<msg::CheckpointHeader>();
  header.setFormat("troupe checkpoint");
  header.setVersion(1);
  header.setProgram("9.9.9");
  header.setSize(bytes.size());
  Sha256 sha256;
  sha256.update({reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()});
  const auto digest = sha256.digest();
  header.setSha256({reinterpret_cast<const kj::byte*>(digest.data()), digest.size()});
  change(header);
  const auto first = capnp::messageToFlatArray(head);
  const auto text = [](const kj::Array<capnp::word>& array) {
    const auto chars = array.asChars();
    return std::string(chars.begin(), chars.size());
  };
  return text(first) + text(words);
}

BOOST_AUTO_TEST_CASE(a_newer_format_is_refused_by_name) {
  const auto read = decode(with_header([](auto header) { header.setVersion(2); }));
  BOOST_REQUIRE(!read);
  BOOST_TEST((read.error().code == ErrorCode::version_mismatch));
  BOOST_TEST(has(read.error().what, "format version 2, written by Troupe 9.9.9"));
}

BOOST_AUTO_TEST_CASE(another_format_size_or_hash_is_refused) {
  const auto what = [](const auto& change) {
    const auto read = decode(with_header(change));
    BOOST_REQUIRE(!read);
    return read.error().what;
  };
  BOOST_TEST(has(what([](auto h) { h.setFormat("troupe snapshot"); }), "none of a checkpoint"));
  BOOST_TEST(has(what([](auto h) { h.setSize(h.getSize() + 8); }), "its header says"));
  BOOST_TEST(has(what([](auto h) { h.initSha256(32); }), "its hash is another"));
  BOOST_TEST(has(what([](auto h) { h.initSha256(31); }), "hash of another length"));
  BOOST_TEST(has(what([](auto) {}), "it lists 0 files"));
}

BOOST_AUTO_TEST_CASE(manifests_that_contradict_themselves_are_refused) {
  const auto refusal = [](const std::function<void(Manifest&)>& change) {
    Manifest manifest = whole();
    change(manifest);
    const auto read = decode(encode(manifest));
    BOOST_TEST(!read);
    return read ? std::string() : read.error().what;
  };
  for (const std::string name : {"", "..", "../x", "/etc/passwd", "a/b", ".hidden", "a\nb"}) {
    BOOST_TEST(has(refusal([&](Manifest& m) { m.files[0].name = name; }), "no name of a file"));
  }
  BOOST_TEST(has(refusal([](Manifest& m) { m.files[1] = m.files[0]; }), "twice"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.tensors[0].file = 99; }), "not listed"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.tensors[1].info.name = "conv.weight"; }), "twice"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.tensors[0].info.name = "a b"; }), "no name"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.tensors[1].offset = 40; }), "overlap"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.tensors[0].offset = UINT64_MAX; }), "outside"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.block_size += 1; }), "do not make up the whole"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.block_size = UINT64_MAX; }), "do not make up"));
  BOOST_TEST(has(refusal([](Manifest& m) {
                   m.tensors[0].info.shape = {1U << 31U, 1U << 31U, 8};
                 }),
                 "too large"));
  BOOST_TEST(has(refusal([](Manifest& m) { m.rank_records.pop_back(); }), "1 ranks, not 2"));
}

BOOST_AUTO_TEST_CASE(checkpoints_of_another_job_are_told_apart_with_what_differs) {
  const JobIdentity job = whole().identity;
  BOOST_TEST(check_same_job(job, job).has_value());
  const auto refusal = [&](const std::function<void(JobIdentity&)>& change) {
    JobIdentity other = job;
    change(other);
    const auto same = check_same_job(job, other);
    BOOST_REQUIRE(!same);
    return same.error().what;
  };
  BOOST_TEST(has(refusal([](auto& o) { o.job = "verses"; }), "name verses there, digits"));
  BOOST_TEST(has(refusal([](auto& o) { o.program = "verses"; }), "program verses there"));
  BOOST_TEST(has(refusal([](auto& o) { o.seed = 8; }), "seed 8 there, 7 in this graph"));
  BOOST_TEST(has(refusal([](auto& o) { o.ranks = 3; }), "ranks 3 there, 2"));
  BOOST_TEST(has(refusal([](auto& o) { o.batch = 3; }), "batch 3 there, 8"));
  BOOST_TEST(has(refusal([](auto& o) { o.settings = "x = 1"; }), "settings (x = 1) there, ()"));
}

BOOST_AUTO_TEST_CASE(shards_are_filled_up_to_their_size) {
  const std::vector<std::uint64_t> sizes = {10, 10, 10, 50, 1, 0, 30};
  const std::vector<std::uint32_t> expected = {0, 0, 1, 2, 3, 3, 4};
  BOOST_TEST(plan_shards(sizes, 30) != expected);
  BOOST_TEST(plan_shards(sizes, 29) == expected, boost::test_tools::per_element());
  BOOST_TEST(shard_name(1, 12) == "tensors-00001-of-00012.safetensors");
}

}  // namespace
}  // namespace troupe::easyscale
