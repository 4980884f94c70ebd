// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <version>

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
#include <expected>
#else
#include <tl/expected.hpp>
#endif

namespace troupe {

/// Why something failed, in words a program can act upon. Mirrors `ErrorCode` in common.capnp (a
/// test keeps the two equal), so an Error crosses the wire unchanged.
enum class ErrorCode : unsigned short {
  internal,            ///< a fault in this program
  invalid_argument,    ///< the caller, a flag or a graph asked for something that makes no sense
  not_found,           ///< a file, node, actor, kind or program that is not there
  already_exists,      ///< a name or port that is taken
  unavailable,         ///< a peer, process or service that cannot be reached now
  permission_denied,   ///< a wrong secret, a file that others can read, a missing right
  version_mismatch,    ///< another program, protocol or file format version
  corrupt,             ///< bytes that are not what they claim to be
  timeout,             ///< the time allowed has run out
  resource_exhausted,  ///< memory, descriptors, credits or restarts are used up
  aborted,             ///< given up because something else ended
};

/// An expected failure: a code for programs, a sentence for people. The sentence names the place
/// and, where there is one, the way out.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;

  friend bool operator==(const Error&, const Error&) = default;
};

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
template <class T>
using Result = std::expected<T, Error>;
using Failure = std::unexpected<Error>;
#else
template <class T>
using Result = tl::expected<T, Error>;
using Failure = tl::unexpected<Error>;
#endif

/// `return fail(ErrorCode::not_found, "...")` from any function that returns a Result.
[[nodiscard]] inline Failure fail(ErrorCode code, std::string what) {
  return Failure(Error{code, std::move(what)});
}

/// Passes an error on, with the place where it was met put in front: "graph.toml: no such file".
[[nodiscard]] inline Failure fail_at(const std::string& place, Error error) {
  return Failure(Error{error.code, place + ": " + error.what});
}

}  // namespace troupe
