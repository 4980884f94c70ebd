// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace troupe {
class TrainProgram;
}

namespace troupe::easyscale {

/// A training program around a TorchScript module (`torch.jit.script(model).save("model.pt")`)
/// whose `forward` takes a batch of inputs and gives a batch of scores or values.
///
/// Its data are another TorchScript module, named by the graph's key `data`, with the buffers
/// `train_inputs`, `train_targets`, `test_inputs` and `test_targets`, each stacked along the first
/// dimension. Targets of an integer type are classes, and the loss is the cross entropy; others are
/// values, and it is the mean squared error. The optimizer is AdamW, its learning rate falls from
/// 0.001 along a cosine.
///
/// Files are read when a model or the data are asked for, and what they throw is thrown.
[[nodiscard]] std::shared_ptr<const TrainProgram> make_script_program(std::string module);

}  // namespace troupe::easyscale
