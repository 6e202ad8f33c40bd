/* digest: makes a keyed digest with OpenSSL, which keeps the key in a heap that is locked in
 * memory, kept out of core dumps and wiped; where no memory may be locked, in an ordinary heap.
 *
 * SPDX-License-Identifier: MIT */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <tarn/hooks/openssl.h>

#include "held.h"

int main(int argc, char** argv) {
  static tarn_heap heap; /* OpenSSL uses it until the process ends. */
  tarn_heap_options options = TARN_HEAP_OPTIONS(.name = "openssl", .flags = TARN_HEAP_SECRET);
  heap = tarn_heap_create(&options);
  if (heap.id == 0) heap = heap_of("openssl", 0);
  if (tarn_openssl_install(&heap) != 0) return 1;
  const char* const text = argc > 1 ? argv[1] : "what is to be signed";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  if (HMAC(EVP_sha256(), "key", 3, (const unsigned char*)text, strlen(text), digest, &bytes) ==
      NULL) {
    print_held(heap, "when there was no memory");
    return 1;
  }
  for (unsigned i = 0; i < bytes; ++i) printf("%02x", digest[i]);
  printf("\n");
  print_held(heap, "with the library's own tables");
  OPENSSL_cleanup();
  print_held(heap, "after OPENSSL_cleanup");
  return 0;
}
