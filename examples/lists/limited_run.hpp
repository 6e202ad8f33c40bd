// limited_run: runs the exerciser again as a child whose memory is limited, so that its data does
// not fit and is swapped: the condition under which requirement S0.13 was measured. The control
// group, and perhaps a swap file, that it sets up are removed even when it is interrupted.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "lacking.hpp"
#include "options.hpp"

namespace lists {

// Returns the child's exit status. Throws Lacking where the machine does not have what it takes. An
// interrupting signal ends this process too, once all is taken away.
int run_limited(const Options& options);

}  // namespace lists
