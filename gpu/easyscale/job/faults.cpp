// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/faults.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace troupe::easyscale {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':')) {
    out.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  out.push_back(text);
  return out;
}

std::optional<FaultPhase> phase(std::string_view word) {
  for (const auto one : {FaultPhase::forward, FaultPhase::exchange, FaultPhase::optimizer}) {
    if (to_string(one) == word) return one;
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(FaultPhase phase) {
  switch (phase) {
    case FaultPhase::forward:
      return "forward";
    case FaultPhase::exchange:
      return "exchange";
    case FaultPhase::optimizer:
      break;
  }
  return "optimizer";
}

Result<Fault> parse_fault(const std::string& text, std::uint32_t count) {
  const std::string place = "--kill-one-at " + text + ": ";
  const auto words = parts(text);
  const auto step = number(words[0]);
  if (words.size() > 3 || !step) {
    return fail(ErrorCode::invalid_argument,
                place + "expected STEP, STEP:PHASE or STEP:PHASE:TRAINER, such as 40:exchange:1");
  }
  Fault fault{*step, FaultPhase::forward, static_cast<Member>(*step % count)};
  if (words.size() > 1) {
    const auto known = phase(words[1]);
    if (!known) {
      return fail(ErrorCode::invalid_argument, place + "no phase \"" + std::string(words[1]) +
                                                   "\": forward, exchange or optimizer");
    }
    fault.phase = *known;
  }
  if (words.size() > 2) {
    const auto trainer = number(words[2]);
    if (!trainer || *trainer >= count) {
      return fail(ErrorCode::invalid_argument, place + "no trainer \"" + std::string(words[2]) +
                                                   "\": there are " + std::to_string(count) +
                                                   ", counted from 0");
    }
    fault.trainer = static_cast<Member>(*trainer);
  }
  return fault;
}

Result<std::vector<Fault>> parse_faults(const std::vector<std::string>& texts,
                                        std::uint32_t count) {
  std::vector<Fault> faults;
  for (const std::string& text : texts) {
    auto fault = parse_fault(text, count);
    if (!fault) return Failure(fault.error());
    faults.push_back(*fault);
  }
  return faults;
}

}  // namespace troupe::easyscale
