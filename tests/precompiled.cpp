// Needed by CMake: headers are precompiled for a target, and a target has a source file.
//
// SPDX-License-Identifier: MIT
