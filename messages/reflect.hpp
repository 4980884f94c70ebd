// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"
#include "messages/units.hpp"

#include <capnp/schema.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What programs learn from a schema at run time: how a key is spelt, what it means, what it holds
// when nobody sets it. Graph files, command-line help and error messages are all made from this.

namespace troupe {

/// "perS" -> "per_s": how a schema's name is spelt in a graph, in JSON and in messages to people.
[[nodiscard]] std::string to_snake(std::string_view camel);

/// How many letters must be inserted, removed, changed or swapped with their neighbour to get from
/// one word to the other; upper and lower case count as equal.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that a misspelt one most likely meant; empty where none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// ", did you mean 'count'?"; where no word is near, the first known ones: "; known: count, kind".
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

/// The value of the `doc` annotation; empty where there is none.
[[nodiscard]] std::string doc_of(capnp::Schema schema);
[[nodiscard]] std::string doc_of(capnp::StructSchema::Field field);
[[nodiscard]] std::string doc_of(capnp::EnumSchema::Enumerant enumerant);

/// What an integer field counts, so that a graph may write it with a unit.
enum class Unit { none, bytes, duration };
[[nodiscard]] Unit unit_of(capnp::StructSchema::Field field);

/// The keys of a struct as a graph spells them, in the schema's order.
[[nodiscard]] std::vector<std::string> keys_of(capnp::StructSchema schema);
/// The words of an enum as a graph spells them.
[[nodiscard]] std::vector<std::string> words_of(capnp::EnumSchema schema);

/// Looks up a key by its graph spelling; the error says what was probably meant.
[[nodiscard]] Result<capnp::StructSchema::Field> find_field(capnp::StructSchema schema,
                                                            std::string_view key);
/// Looks up a word of an enum in any mixture of cases; the error lists the words.
[[nodiscard]] Result<capnp::EnumSchema::Enumerant> find_enumerant(capnp::EnumSchema schema,
                                                                  std::string_view word);

/// "512MiB" -> bytes. Units: B, KiB, MiB, GiB, TiB; whole numbers only.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
/// "30s" -> milliseconds. Units: ms, s, min, h; whole numbers only.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);

/// One key of a struct, for help texts.
struct KeyHelp {
  std::string key;
  std::string type;           ///< "text", "whole number", "one of: permanent, transient"
  std::string default_value;  ///< as a graph would write it; empty where there is none
  std::string doc;

  friend bool operator==(const KeyHelp&, const KeyHelp&) = default;
};

/// "a whole number", "one of: permanent, transient": what a value of this type is called.
[[nodiscard]] std::string type_name(capnp::Type type, Unit unit = Unit::none);

/// Every key of a struct, in the schema's order.
[[nodiscard]] std::vector<KeyHelp> describe(capnp::StructSchema schema);

}  // namespace troupe
