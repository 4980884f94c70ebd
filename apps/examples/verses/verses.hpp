// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace troupe {

class TrainProgram;

/// The training program "verses": a decoder-only transformer that learns to continue verses, letter
/// by letter. Its data are the lines of the file that the `data` key of the graph names, or else
/// the New Testament as Debian's program `bible` prints it. Its loss is in bits per character.
[[nodiscard]] std::shared_ptr<const TrainProgram> make_verses_program();

}  // namespace troupe
