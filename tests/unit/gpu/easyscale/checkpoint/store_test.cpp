// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/manifest_link.hpp"
#include "gpu/easyscale/checkpoint/store_link.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <sys/resource.h>

#include <csignal>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;
using test::has;
using troupe::test::Scratch;

// Opens and reads everything; what is wrong, or nothing.
std::string trouble(const fs::path& folder) {
  const auto manifest = open_checkpoint(folder);
  if (!manifest) return manifest.error().what;
  const auto verified = verify_checkpoint(folder, *manifest);
  const auto loaded = load_checkpoint(folder, *manifest);
  BOOST_TEST(verified.has_value() == loaded.has_value());
  return verified ? "" : verified.error().what;
}

BOOST_AUTO_TEST_CASE(a_state_is_the_same_after_a_checkpoint_whatever_the_shards) {
  for (const std::uint64_t shard : {1U, 100U, 2500U, 1U << 20U}) {
    const Scratch scratch;
    const test::State state = test::make_state(40);
    const auto manifest = test::write_one(scratch / "one", 40, shard);
    BOOST_TEST(manifest.files.size() == (shard == 1U << 20U ? 1U : manifest.files.size()));
    const auto opened = open_checkpoint(scratch / "one").value();
    BOOST_TEST((opened.tensors == manifest.tensors));
    BOOST_TEST((load_checkpoint(scratch / "one", opened).value() == state.bytes));
  }
}

BOOST_AUTO_TEST_CASE(tensors_have_the_hashes_of_their_bytes) {
  const Scratch scratch;
  const test::State state = test::make_state(40);
  const auto manifest = test::write_one(scratch / "one", 40);
  const auto hashes = hash_tensors(state.layout, state.bytes).value();
  BOOST_REQUIRE(hashes.size() == manifest.tensors.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    BOOST_TEST(hashes[i].name == manifest.tensors[i].info.name);
    BOOST_TEST((hashes[i].sha256 == manifest.tensors[i].sha256));
  }
  BOOST_TEST(hashes.back().name == frame_tensor);
}

BOOST_AUTO_TEST_CASE(every_changed_byte_of_every_file_is_noticed) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  const auto manifest = test::write_one(folder, 40, 2500);
  for (const FileRecord& file : manifest.files) {
    const std::string good = test::read_file(folder / file.name);
    BOOST_TEST(good.size() == file.size);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      test::write_file(folder / file.name, bad);
      const auto what = trouble(folder);
      // The header's notes and blanks may differ: what they say is not used.
      const bool is_note = at < good.find("},\"") || good[at] == ' ';
      if (!is_note) BOOST_TEST(has(what, file.name), at);
    }
    test::write_file(folder / file.name, good);
    BOOST_TEST(trouble(folder).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_is_reported_with_file_and_tensor) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  const auto manifest = test::write_one(folder, 40, 2500);
  const TensorRecord* tensor = manifest.find("optimizer.conv.weight.exp_avg");
  const std::string name = manifest.files[tensor->file].name;
  std::string bytes = test::read_file(folder / name);
  bytes[bytes.size() - 2000] ^= 4;
  test::write_file(folder / name, bytes);
  const auto what = trouble(folder);
  BOOST_TEST(has(what, name + ": tensor optimizer.conv.weight.exp_avg is not the one"), what);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_missing_or_longer_is_reported) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  const auto manifest = test::write_one(folder, 40, 2500);
  const std::string& name = manifest.files[1].name;
  const std::string good = test::read_file(folder / name);
  for (std::size_t size = 0; size < good.size(); size += 61) {
    test::write_file(folder / name, good.substr(0, size));
    BOOST_TEST(has(trouble(folder), name + ": it has " + std::to_string(size) + " bytes"));
  }
  test::write_file(folder / name, good + "x");
  BOOST_TEST(has(trouble(folder), name));
  fs::remove(folder / name);
  BOOST_TEST(has(trouble(folder), name + ": No such file"));
  fs::create_directory(folder / name);
  BOOST_TEST(has(trouble(folder), name));
}

BOOST_AUTO_TEST_CASE(a_file_of_another_checkpoint_is_reported) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  const auto manifest = test::write_one(folder, 40, 2500);
  test::write_one(scratch / "other", 44, 2500);
  const std::string& name = manifest.files[0].name;
  fs::copy_file(scratch / "other" / name, folder / name, fs::copy_options::overwrite_existing);
  BOOST_TEST(has(trouble(folder), name + ": tensor conv.weight is not the one"));
  fs::copy_file(folder / manifest.files[1].name, folder / name,
                fs::copy_options::overwrite_existing);
  BOOST_TEST(has(trouble(folder), name));
}

BOOST_AUTO_TEST_CASE(a_link_in_place_of_a_file_is_not_followed) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  const auto manifest = test::write_one(folder, 40);
  fs::rename(folder / manifest.files[0].name, scratch / "elsewhere");
  fs::create_symlink(scratch / "elsewhere", folder / manifest.files[0].name);
  BOOST_TEST(has(trouble(folder), manifest.files[0].name));
}

BOOST_AUTO_TEST_CASE(a_folder_without_a_manifest_is_no_checkpoint) {
  const Scratch scratch;
  test::write_one(scratch / "one", 40);
  fs::remove(scratch / "one" / manifest_name);
  BOOST_TEST((open_checkpoint(scratch / "one").error().code == ErrorCode::not_found));
  BOOST_TEST((open_checkpoint(scratch / "nowhere").error().code == ErrorCode::not_found));
}

BOOST_AUTO_TEST_CASE(a_manifest_of_much_more_than_there_is_allocates_nothing) {
  const Scratch scratch;
  const fs::path folder = scratch / "one";
  Manifest manifest = test::write_one(folder, 40);
  for (TensorRecord& tensor : manifest.tensors) {
    if (tensor.info.name != frame_tensor) continue;
    const std::uint64_t huge = std::uint64_t{1} << 60U;
    tensor.info.shape = {huge + tensor.info.shape[0]};
    manifest.block_size += huge;
  }
  test::write_file(folder / manifest_name, encode(manifest));
  const auto opened = open_checkpoint(folder);
  BOOST_REQUIRE_MESSAGE(opened, troupe::test::why(opened));
  const auto loaded = load_checkpoint(folder, *opened);
  BOOST_REQUIRE(!loaded);
  BOOST_TEST(has(loaded.error().what, "larger than its files"));
}

BOOST_AUTO_TEST_CASE(a_write_that_does_not_fit_is_an_error_and_leaves_nothing) {
  const Scratch scratch;
  const test::State state = test::make_state(40, 3000);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto written =
      write_checkpoint(scratch / "one", test::about(40), state.layout, state.bytes);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  BOOST_REQUIRE(!written);
  BOOST_TEST((written.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(has(written.error().what, "cannot write"));
  BOOST_TEST(!fs::exists(scratch / "one"));
}

BOOST_AUTO_TEST_CASE(a_layout_that_does_not_fit_the_state_is_refused) {
  const Scratch scratch;
  test::State state = test::make_state(40);
  state.layout.tensors[1].offset = state.layout.tensors[0].offset;
  BOOST_TEST(!write_checkpoint(scratch / "one", test::about(40), state.layout, state.bytes));
  BOOST_TEST(!hash_tensors(state.layout, state.bytes));
  BOOST_TEST(!fs::exists(scratch / "one"));
}

}  // namespace
}  // namespace troupe::easyscale
