// processes: libxml2's, OpenSSL's and curl's hooks, of which a process has one each. They are
// installed before the tests, and ended after them: this program has a main of its own.
//
// SPDX-License-Identifier: MIT
#include "tarn/hooks/curl.h"
#include "tarn/hooks/libxml2.h"
#include "tarn/hooks/openssl.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <string>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "hooks.hpp"

namespace {

using hooks::Heap;

Heap* xml_heap;
Heap* ssl_heap;
Heap* curl_heap;

// Other threads' and the libraries' own blocks are there as well, so tests look at differences.
std::string xml_of(int elements) {
  std::string text = "<root>";
  for (int i = 0; i < elements; ++i) text += "<e a='b" + std::to_string(i) + "'>some text</e>";
  return text + "</root>";
}

void say_nothing(void*, const char*, ...) {}

// Fills a heap up to its ceiling, and gives that back at the end.
class Full {
 public:
  explicit Full(const Heap& heap, std::size_t block_bytes) {
    for (std::size_t bytes = 1 << 20; bytes >= block_bytes; bytes /= 2) {
      while (void* const p = tarn_heap_allocate(heap.heap, bytes)) blocks_.push_back(p);
    }
  }
  ~Full() {
    for (void* const p : blocks_) tarn_heap_deallocate(p);
  }

 private:
  std::vector<void*> blocks_;
};

TEST(Libxml2, HasDocumentsInItsHeap) {
  const std::string text = xml_of(500);
  EXPECT_EQ(tarn_libxml2_install(&xml_heap->heap), -1) << "once";
  // After the first one what stays is there.
  xmlFreeDoc(xmlReadMemory(text.data(), int(text.size()), "a", nullptr, 0));
  const auto before = xml_heap->blocks();
  xmlDoc* const document = xmlReadMemory(text.data(), int(text.size()), "a", nullptr, 0);
  ASSERT_NE(document, nullptr);
  EXPECT_TRUE(xml_heap->has(document));
  EXPECT_GT(xml_heap->blocks(), before + 500);
  xmlChar* printed = nullptr;
  int bytes = 0;
  xmlDocDumpMemory(document, &printed, &bytes);
  EXPECT_TRUE(xml_heap->has(printed));
  EXPECT_GT(bytes, int(text.size()));
  xmlFree(printed);
  xmlFreeDoc(document);
  EXPECT_EQ(xml_heap->blocks(), before);
}

TEST(Libxml2, SaysThatThereIsNoMemory) {
  const std::string text = xml_of(3000);
  xmlSetGenericErrorFunc(nullptr, say_nothing);
  xmlResetLastError();
  {
    const Full full(*xml_heap, 512);
    xmlDoc* const document =
        xmlReadMemory(text.data(), int(text.size()), "a", nullptr, XML_PARSE_NOERROR);
    EXPECT_EQ(document, nullptr);
    ASSERT_NE(xmlGetLastError(), nullptr);
    EXPECT_EQ(xmlGetLastError()->code, int(XML_ERR_NO_MEMORY));
  }
  xmlSetGenericErrorFunc(nullptr, nullptr);
  xmlResetLastError();
  xmlDoc* const document = xmlReadMemory(text.data(), int(text.size()), "a", nullptr, 0);
  EXPECT_NE(document, nullptr) << "it goes on";
  xmlFreeDoc(document);
}

TEST(Libxml2, ServesThreads) {
  int failures[3] = {};
  support::each_in_threads(failures, [](int& failed) {
    const std::string text = xml_of(200);
    for (int i = 0; i < 10; ++i) {
      xmlDoc* const document = xmlReadMemory(text.data(), int(text.size()), "a", nullptr, 0);
      if (document == nullptr || !xml_heap->has(document)) ++failed;
      xmlFreeDoc(document);
    }
  });
  for (const int failed : failures) EXPECT_EQ(failed, 0);
}

TEST(OpenSsl, HasItsMemoryInItsHeap) {
  const auto before = ssl_heap->blocks();
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  ASSERT_NE(context, nullptr);
  EXPECT_TRUE(ssl_heap->has(context));
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  ASSERT_EQ(EVP_DigestInit_ex(context, EVP_sha256(), nullptr), 1);
  ASSERT_EQ(EVP_DigestUpdate(context, "abc", 3), 1);
  ASSERT_EQ(EVP_DigestFinal_ex(context, digest, &bytes), 1);
  EXPECT_EQ(bytes, 32u);
  EXPECT_EQ(digest[0], 0xba);
  EXPECT_GT(ssl_heap->blocks(), before);
  EVP_MD_CTX_free(context);
  EXPECT_EQ(tarn_openssl_install(&xml_heap->heap), -1) << "once";
  EXPECT_EQ(tarn_openssl_heap, &ssl_heap->heap) << "and nothing has changed";
}

TEST(OpenSsl, SaysThatThereIsNoMemory) {
  BIGNUM* const one = BN_new();
  ASSERT_NE(one, nullptr);
  ERR_clear_error();
  {
    const Full full(*ssl_heap, 256);
    EXPECT_EQ(BN_lshift(one, BN_value_one(), 8'000'000), 0);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), ERR_R_MALLOC_FAILURE);
  }
  ERR_clear_error();
  EXPECT_EQ(BN_lshift(one, BN_value_one(), 80'000), 1) << "it goes on";
  BN_free(one);
}

TEST(Curl, HasItsMemoryInItsHeap) {
  const auto before = curl_heap->blocks();
  CURL* const easy = curl_easy_init();
  ASSERT_NE(easy, nullptr);
  EXPECT_TRUE(curl_heap->has(easy));
  ASSERT_EQ(curl_easy_setopt(easy, CURLOPT_URL, "file:///etc/hostname"), CURLE_OK);
  char* const escaped = curl_easy_escape(easy, "a b", 3);
  EXPECT_TRUE(curl_heap->has(escaped));
  EXPECT_STREQ(escaped, "a%20b");
  curl_free(escaped);
  EXPECT_GT(curl_heap->blocks(), before);
  curl_easy_cleanup(easy);
  EXPECT_EQ(curl_heap->blocks(), before);
}

TEST(Curl, SaysThatThereIsNoMemory) {
  CURL* const easy = curl_easy_init();
  ASSERT_NE(easy, nullptr);
  {
    const Full full(*curl_heap, 16);
    EXPECT_EQ(curl_easy_init(), nullptr);
    const std::string url(20'000, 'x');
    EXPECT_EQ(curl_easy_setopt(easy, CURLOPT_URL, url.c_str()), CURLE_OUT_OF_MEMORY);
    EXPECT_EQ(curl_slist_append(nullptr, url.c_str()), nullptr);
  }
  EXPECT_EQ(curl_easy_setopt(easy, CURLOPT_URL, "file:///"), CURLE_OK) << "it goes on";
  curl_easy_cleanup(easy);
}

// Where somebody has initialised curl without the hooks before.
TEST(Curl, InstallIsRefusedAfterInitialisation) {
  curl_global_cleanup();
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_NOTHING), CURLE_OK);
  EXPECT_EQ(tarn_curl_install(&curl_heap->heap, CURL_GLOBAL_NOTHING), CURLE_FAILED_INIT);
  CURL* const easy = curl_easy_init();
  EXPECT_FALSE(curl_heap->has(easy));
  curl_easy_cleanup(easy);
  curl_global_cleanup();
  ASSERT_EQ(tarn_curl_install(&curl_heap->heap, CURL_GLOBAL_NOTHING), CURLE_OK);
}

// Nor is there a second heap beside the first.
TEST(Curl, IsInstalledOnce) {
  {
    const Heap other;
    EXPECT_EQ(tarn_curl_install(&other.heap, CURL_GLOBAL_NOTHING), CURLE_FAILED_INIT);
    EXPECT_EQ(other.blocks(), 0u);
  }
  EXPECT_EQ(tarn_curl_install(&curl_heap->heap, CURL_GLOBAL_NOTHING), CURLE_FAILED_INIT);
  CURL* const easy = curl_easy_init();
  EXPECT_TRUE(curl_heap->has(easy));
  curl_easy_cleanup(easy);
}

// After the last cleaning up it may be another heap, in which there is room for nothing at first.
TEST(Curl, MayBeInstalledAnew) {
  Heap other;
  curl_global_cleanup();
  ASSERT_EQ(tarn_curl_install(&other.heap, CURL_GLOBAL_NOTHING), CURLE_OK);
  curl_slist* const list = curl_slist_append(nullptr, "a");
  EXPECT_TRUE(other.has(list));
  curl_slist_free_all(list);
  curl_global_cleanup();
  other.end();
  other.heap = Heap::made(4096);
  const CURLcode code = tarn_curl_install(&other.heap, CURL_GLOBAL_DEFAULT);
  if (code == CURLE_OK) {
    curl_global_cleanup();
  } else {
    curl_slist_free_all(curl_slist_append(nullptr, "a"));  // As if nothing had been.
  }
  ASSERT_EQ(tarn_curl_install(&curl_heap->heap, CURL_GLOBAL_NOTHING), CURLE_OK);
}

}  // namespace

// In a child, which OpenSSL's own malloc has served already: refused.
bool is_refused_when_late() {
  const int status = support::status_of_child([] {
    EVP_MD_CTX_free(EVP_MD_CTX_new());
    const bool refused = tarn_openssl_install(&ssl_heap->heap) == -1;
    return refused && tarn_openssl_heap == nullptr ? 0 : 1;
  });
  return status == 0;
}

int main(int argc, char** argv) {
  static Heap xml(4 << 20);
  static Heap ssl(16 << 20);
  static Heap curl(4 << 20);
  xml_heap = &xml;
  ssl_heap = &ssl;
  curl_heap = &curl;
  // libxml2 has something already, which goes back to where it is from.
  xmlChar* const early = xmlStrdup(reinterpret_cast<const xmlChar*>("early"));
  if (!is_refused_when_late()) return 1;
  if (tarn_openssl_install(&ssl.heap) != 0) return 2;
  if (tarn_libxml2_install(&xml.heap) != 0) return 3;
  if (tarn_curl_install(&curl.heap, CURL_GLOBAL_DEFAULT) != CURLE_OK) return 4;
  xmlFree(early);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  xmlCleanupParser();
  if (xml.blocks() != 0) return 5;
  curl_global_cleanup();
  if (curl.blocks() != 0) return 6;
  OPENSSL_cleanup();
  if (ssl.blocks() != 0) return 7;
  return failed;
}
