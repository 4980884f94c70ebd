// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE troupe
#include <boost/test/unit_test.hpp>

#ifdef __SANITIZE_ADDRESS__
/// A UCX worker that has lost a payload cannot be destroyed (UcxWorker's destructor says why): what
/// UCX itself holds of it is no leak of ours.
extern "C" const char* __lsan_default_suppressions() { return "leak:ucs_calloc\n"; }
#endif
