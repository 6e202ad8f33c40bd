/* compress: compresses itself, or the file given, with zlib in a heap of 512 KiB.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <tarn/hooks/zlib.h>

#include "held.h"

static int compress_file(FILE* in, z_stream* out) {
  static unsigned char text[16384];
  static unsigned char packed[16384];
  int result;
  do {
    out->avail_in = (uInt)fread(text, 1, sizeof text, in);
    out->next_in = text;
    const int flush = feof(in) ? Z_FINISH : Z_NO_FLUSH;
    do {
      out->next_out = packed;
      out->avail_out = sizeof packed;
      result = deflate(out, flush);
      if (result == Z_STREAM_ERROR) return result;
    } while (out->avail_out == 0);
  } while (result != Z_STREAM_END);
  return Z_OK;
}

int main(int argc, char** argv) {
  tarn_heap heap = heap_of("zlib", 512 * 1024);
  FILE* const in = fopen(argc > 1 ? argv[1] : argv[0], "rb");
  if (in == NULL) return 1;
  z_stream stream = {0};
  tarn_zlib_use(&stream, &heap);
  int result = deflateInit(&stream, Z_BEST_COMPRESSION);
  if (result == Z_OK) result = compress_file(in, &stream);
  fclose(in);
  if (result != Z_OK) {
    fprintf(stderr, "compress: %s\n", zError(result));
    return 1;
  }
  printf("%lu bytes are %lu now\n", stream.total_in, stream.total_out);
  print_held(heap, "while it compressed");
  deflateEnd(&stream);
  print_held(heap, "after deflateEnd");
  tarn_heap_destroy(heap);
  return 0;
}
