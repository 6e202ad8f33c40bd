/* empty_library: a shared library that does nothing, in particular leaves no account.
 * SPDX-License-Identifier: MIT */
int tarn_tools_empty(void);
int tarn_tools_empty(void) { return 0; }
