// SPDX-License-Identifier: Apache-2.0
#include "actors/net/fault_plan.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace troupe {
namespace {

/// FNV-1a over 64 bits.
std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t state = 0xcbf29ce484222325ull) {
  for (const auto byte : bytes) {
    state = (state ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ull;
  }
  return state;
}

/// What follows the blob on its way.
struct Trailer {
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;
};

std::uint64_t checksum(const Frame& frame, std::span<const std::byte> blob,
                       std::uint64_t sequence) {
  const auto header = hash(std::as_bytes(std::span(&frame.header, 1)), ~sequence);
  return hash(blob, hash(frame.body.bytes(), header));
}

std::vector<std::byte> copy(const Slice& slice) {
  return {slice.bytes().begin(), slice.bytes().end()};
}

}  // namespace

Dice::Dice(std::uint64_t seed, const std::string& name)
    : random_(hash(std::as_bytes(std::span(name)), hash(std::as_bytes(std::span(&seed, 1))))) {}

bool Dice::falls(double chance) {
  return chance > 0 && static_cast<double>(random_() >> 11) * 0x1.0p-53 < chance;
}

Frame seal(Frame frame, std::uint64_t sequence) {
  frame.header.body_bytes = static_cast<std::uint32_t>(frame.body.size());
  frame.header.blob_bytes = frame.blob.size();
  const Trailer trailer{sequence, checksum(frame, frame.blob.bytes(), sequence)};
  auto blob = copy(frame.blob);
  const auto bytes = std::as_bytes(std::span(&trailer, 1));
  blob.insert(blob.end(), bytes.begin(), bytes.end());
  frame.blob = Slice::own(std::move(blob));
  return frame;
}

Seal unseal(Frame& frame) {
  Trailer trailer;
  const auto size = frame.blob.size() - sizeof trailer;
  std::memcpy(&trailer, frame.blob.data() + size, sizeof trailer);
  const auto owner = std::make_shared<Slice>(std::move(frame.blob));
  frame.blob = Slice(owner, owner->bytes().first(size));
  return {trailer.sequence,
          trailer.checksum == checksum(frame, frame.blob.bytes(), trailer.sequence)};
}

void damage(Frame& frame, Dice& dice) {
  auto body = copy(frame.body);
  auto blob = copy(frame.blob);
  const auto part = dice.below(3);
  std::span<std::byte> target = std::as_writable_bytes(std::span(&frame.header, 1));
  if (part == 1 && !body.empty()) target = body;
  if (part == 2) target = blob;
  target = target.subspan(dice.below(target.size()));
  target = target.first(std::min<std::size_t>(1 + dice.below(8), target.size()));
  for (auto& byte : target) byte ^= static_cast<std::byte>(1 + dice.below(255));
  // Memory of words, so that a body stays aligned for Cap'n Proto.
  std::vector<std::uint64_t> words(body.size() / 8);
  if (!body.empty()) std::memcpy(words.data(), body.data(), words.size() * 8);
  frame.body = Slice::own(std::move(words));
  frame.blob = Slice::own(std::move(blob));
}

std::string to_string(const FaultPlan& plan) {
  std::string text = "seed " + std::to_string(plan.seed);
  const std::pair<const char*, double> chances[] = {
      {"delay", plan.delay},     {"reorder", plan.reorder}, {"duplicate", plan.duplicate},
      {"corrupt", plan.corrupt}, {"cut", plan.cut},         {"refuse", plan.refuse}};
  for (const auto& [name, chance] : chances) {
    if (chance > 0) text += std::string(", ") + name + " " + std::to_string(chance);
  }
  if (plan.frames_per_s > 0) text += ", " + std::to_string(plan.frames_per_s) + " frames/s";
  if (!plan.checked) text += ", unchecked";
  constexpr const char* kinds[] = {"cut", "partition", "heal"};
  for (const auto& event : plan.events) {
    text += std::string(", ") + kinds[static_cast<int>(event.kind)] + " " + event.from + ">" +
            event.to + " after " + std::to_string(event.after);
  }
  return text;
}

}  // namespace troupe
