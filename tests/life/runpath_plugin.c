/* runpath_plugin: what the runpath test must find.
 *
 * SPDX-License-Identifier: MIT */
__attribute__((visibility("default"))) int runpath_answer(void);
int runpath_answer(void) { return 77; }
