// account: the account of the whole process, class by class (tarn/diagnose/account.h).
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/diagnose/account.h"

namespace tarn {

// Fills in totals and classes. Any thread; exact when it is alone.
void fill_account(tarn_account* account) noexcept;

// The whole account, with the process's identity.
void describe_process(tarn_account* account) noexcept;

}  // namespace tarn
