// post: a page goes to its owner's mail, because others have freed blocks of it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Posts a page that page_free_remote() has put in state mailed. Any thread; takes the orphans' lock
// where the owner has ended.
void post(Page* page) noexcept;

// Puts pages, linked by `newer`, back into the mail that the calling thread has taken them from.
void return_mail(Thread& owner, Page* pages) noexcept;

}  // namespace tarn
