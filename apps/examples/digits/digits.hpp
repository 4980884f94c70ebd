// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace troupe {

class TrainProgram;

/// The training program "digits": a small convolutional network with batch normalisation and
/// dropout on 1,797 handwritten digits of 8 x 8 pixels, 1,437 to train on and 360 to test with. Its
/// data file is the `data` key of the graph (a file, or a folder with digits.csv.gz in it), or else
/// in the folder $TROUPE_DATA, or else in the data folder that it was built or installed with.
[[nodiscard]] std::shared_ptr<const TrainProgram> make_digits_program();

}  // namespace troupe
