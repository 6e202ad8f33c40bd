// post: puts a page of which other threads have freed blocks into its owner's mail.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Posts a page that page_free_remote() has put in state mailed. Any thread. Takes the orphans' lock
// when the owner has ended.
void post(Page* page) noexcept;

// page_free_remote(), and posts the page if need be. Any thread.
void free_remote(Page& page, Block* first, Block* last, std::uint32_t count) noexcept;

// Puts pages, linked by `newer`, back into the mail from which the calling thread has taken them.
void return_mail(Thread& owner, Page* pages) noexcept;

}  // namespace tarn
