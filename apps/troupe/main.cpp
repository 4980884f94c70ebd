// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/app_main.hpp"
#include "gpu/easyscale/kinds.hpp"

int main(int argc, char** argv) {
  troupe::ActorKinds kinds;
  troupe::register_easyscale(kinds);
  return troupe::app_main(argc, argv, kinds);
}
