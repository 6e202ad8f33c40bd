// compat/xstring.h: std::string and std::wstring, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XSTRING_H
#define TARN_COMPAT_XSTRING_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <string>

typedef std::basic_string<char, std::char_traits<char>, stl_allocator<char>> xstring;
typedef std::basic_string<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>> xwstring;

#endif
#endif
