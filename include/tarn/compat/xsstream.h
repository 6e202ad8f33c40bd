// compat/xsstream.h: string streams, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XSSTREAM_H
#define TARN_COMPAT_XSSTREAM_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <sstream>
#include <string>

typedef std::basic_stringstream<char, std::char_traits<char>, stl_allocator<char>> xstringstream;
typedef std::basic_ostringstream<char, std::char_traits<char>, stl_allocator<char>> xostringstream;
typedef std::basic_stringstream<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>
    xwstringstream;
typedef std::basic_ostringstream<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>
    xwostringstream;

#endif
#endif
