// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"

namespace troupe {

/// The main() of every Troupe program, once it has listed the kinds that it knows:
///
///     int main(int argc, char** argv) {
///       troupe::ActorKinds kinds;
///       register_my_kinds(kinds);
///       return troupe::app_main(argc, argv, kinds);
///     }
///
/// Such a program is a whole `troupe` of its own (all commands) and hosts its kinds when another
/// one starts it. Returns the exit status: 0, 1, or 2 for wrong usage.
int app_main(int argc, char** argv, ActorKinds& kinds);

}  // namespace troupe
