// SPDX-License-Identifier: Apache-2.0
#include "actors/core/reason.hpp"

#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/sec.hpp>
#include <kj/exception.h>

#include <exception>

namespace troupe {
namespace {

constexpr auto category = caf::atom("troupe");

// 0 means "no error" to CAF.
std::uint8_t to_number(ErrorCode code) { return static_cast<std::uint8_t>(code) + 1; }
ErrorCode to_code(std::uint8_t number) { return static_cast<ErrorCode>(number - 1); }

std::string text_of(const caf::error& error) {
  if (error.context().match_elements<std::string>()) {
    return error.context().get_as<std::string>(0);
  }
  if (error.category() == caf::atom("exit")) {
    return caf::to_string(static_cast<caf::exit_reason>(error.code()));
  }
  if (error.category() == caf::atom("system")) {
    return caf::to_string(static_cast<caf::sec>(error.code()));
  }
  return caf::to_string(error);
}

}  // namespace

caf::error to_caf(const Error& error) {
  return {to_number(error.code), category, caf::make_message(error.what)};
}

Error from_caf(const caf::error& error) {
  if (is_normal_end(error)) return {ErrorCode::aborted, "ended normally"};
  const auto code = error.category() == category ? to_code(error.code())
                    : error == caf::sec::request_receiver_down ||
                            error == caf::exit_reason::remote_link_unreachable
                        ? ErrorCode::unavailable
                    : error == caf::sec::request_timeout ? ErrorCode::timeout
                                                         : ErrorCode::internal;
  return {code, text_of(error)};
}

bool is_normal_end(const caf::error& reason) {
  return !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown;
}

void write_reason(msg::Reason::Builder to, const caf::error& error) {
  if (!error) return;
  to.setCategory(static_cast<std::uint64_t>(error.category()));
  to.setNumber(error.code());
  to.setWhat(text_of(error));
}

caf::error read_reason(msg::Reason::Reader from) {
  if (from.getNumber() == 0) return {};
  return {from.getNumber(), static_cast<caf::atom_value>(from.getCategory()),
          caf::make_message(std::string(from.getWhat()))};
}

void keep_first_cause(caf::scheduled_actor& actor) {
  actor.set_exception_handler([](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const kj::Exception& e) {
      return to_caf({ErrorCode::corrupt, e.getDescription().cStr()});
    } catch (const std::exception& e) {
      return to_caf({ErrorCode::internal, e.what()});
    } catch (...) {
      return to_caf({ErrorCode::internal, "an exception of an unknown type"});
    }
  });
}

}  // namespace troupe
