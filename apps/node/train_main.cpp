// SPDX-License-Identifier: Apache-2.0
//
// troupe-train: hosts trainers. A user's own program looks the same, with other programs in the
// table.
#include "apps/examples/digits/digits.hpp"
#include "apps/examples/verses/verses.hpp"
#include "apps/troupe/app_main.hpp"
#include "gpu/easyscale/kinds.hpp"
#include "gpu/easyscale/numerics.hpp"
#include "gpu/easyscale/train_programs.hpp"

#include <cstdio>
#include <cstring>

namespace {

/// For `troupe doctor`, which links no torch.
int about() {
  for (const auto& [name, value] : troupe::easyscale::about_numerics()) {
    std::printf("%s=%s\n", name.c_str(), value.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--about") == 0) return about();
  troupe::TrainPrograms programs;
  programs["digits"] = troupe::make_digits_program();
  programs["verses"] = troupe::make_verses_program();
  troupe::ActorKinds kinds;
  troupe::register_easyscale(kinds);
  troupe::register_easyscale_trainer(kinds, programs);
  return troupe::app_main(argc, argv, kinds);
}
