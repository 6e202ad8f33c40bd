/* report.h: writes lines to standard error in the library's format, for code that finds misuse
 * itself. (Users: tarn/standard/checking_resource.hpp, tarn/standard/pmr.hpp.) Nothing is
 * allocated. Any thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_REPORT_H
#define TARN_REPORT_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the line `tarn: KIND: TEXT`. A line longer than about 500 bytes is cut. */
TARN_API void tarn_report_line(const char* kind, const char* text);

/* Describes a call for such a line, by its return address: `module+0x1234 (0x5555...)`, or the
 * address alone where no module is known. That is the last byte of the call, so that `addr2line -i
 * -e module 0x1234` finds its line. The text ends with a NUL and is cut to `room` bytes, the NUL
 * included. With a room of 0 nothing is written. Returns the length of the text. */
TARN_API size_t tarn_site_text(const void* return_address, char* text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
#endif
