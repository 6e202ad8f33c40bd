/* names: the parts of a program that uses several of the sources' interfaces at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_COMPAT_NAMES_H
#define TARN_TESTS_COMPAT_NAMES_H

#include "../check.h"

void smrtheap(void);
void smrtheap_walks(void);
void fixed_pool(void);

#endif
