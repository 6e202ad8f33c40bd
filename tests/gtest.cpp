// gtest: what carries the precompiled <gtest/gtest.h>. SPDX-License-Identifier: MIT
