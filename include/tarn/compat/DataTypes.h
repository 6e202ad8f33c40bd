/* compat/DataTypes.h: the short names of types that D. Lafreniere's Allocator and xallocator bring
 * along. Allocator.h and xallocator.h include it. With XALLOCATOR_NO_DATA_TYPES it defines nothing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_DATA_TYPES_H
#define TARN_COMPAT_DATA_TYPES_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE) && !defined(XALLOCATOR_NO_DATA_TYPES) && !defined(_WIN32)

typedef signed char INT8;
typedef unsigned char UINT8;
typedef signed short INT16;
typedef unsigned short UINT16;
typedef int INT32;
typedef unsigned int UINT32;
typedef char CHAR;
typedef short SHORT;
typedef int INT;
typedef unsigned int UINT;
typedef long LONG;
typedef unsigned long DWORD;
typedef unsigned char BYTE;
typedef unsigned short WORD;
typedef float FLOAT;
typedef double DOUBLE;
typedef int BOOL;

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif

#endif
#endif
