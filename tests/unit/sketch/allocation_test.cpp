// The steady state of a worker: no request and no answer costs an allocation.
#include <cstdlib>
#include <new>

#include <openssl/crypto.h>

#include "forms.hpp"
#include "sketch/sketch.hpp"

namespace {

std::size_t allocations = 0;

void* allocate(std::size_t size, const char*, int) {
  ++allocations;
  return std::malloc(size);
}
void* reallocate(void* memory, std::size_t size, const char*, int) {
  ++allocations;
  return std::realloc(memory, size);
}
void release(void* memory, const char*, int) {
  std::free(memory);
}

// Only before OpenSSL has allocated something, so before main().
const bool openssl_is_counted = CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;

}  // namespace

// None is inlined: GCC would warn of one half of a pair that it sees through.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// All forms are replaced together: a sanitizer would pair its own with our delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace prophecy::sketch {
namespace {

// What a worker keeps for a connection and for itself.
struct Worker {
  // True when both messages went through; the sketches land in `request_sketch` and
  // `answer_sketch`.
  bool serve(std::string_view request_text, std::string_view answer_text) {
    request_parser.reset();
    response_parser.reset(false);
    auto progress = request_parser.feed(request_text);
    progress = request_parser.feed(request_text.substr(progress.consumed));
    if (progress.state != http::ParseState::complete) return false;
    const RequestContext context{"http", "192.0.2.7", &trusted_peers};
    if (request_canonicalizer.locate(request, context, request_form) ||
        request_canonicalizer.canonicalize(request, context, profile, request_form)) {
      return false;
    }
    request_sketch = function.of(request_form);

    progress = response_parser.feed(answer_text);
    progress = response_parser.feed(answer_text.substr(progress.consumed));
    if (progress.state != http::ParseState::complete) return false;
    AnswerForm form;
    if (answer_canonicalizer.canonicalize(response, false, form) != AnswerFault::none) return false;
    answer_sketch = function.of(form);
    return true;
  }

  Profile profile;
  AddressRanges trusted_peers{*AddressRange::parse("192.0.2.0/24")};
  http::MessageLimits limits;
  http::Request request;
  http::Response response;
  http::RequestParser request_parser{request, limits};
  http::ResponseParser response_parser{response, limits};
  RequestCanonicalizer request_canonicalizer;
  AnswerCanonicalizer answer_canonicalizer{profile};
  RequestForm request_form;
  SketchFunction function{DigestKind::gmac, Bytes(kSecretSize, 1), profile, "default"};
  Sketch request_sketch{};
  Sketch answer_sketch{};
};

}  // namespace

TEST_CASE("no allocation in the steady state") {
  const std::string request =
      "GET /index.html?x=1 HTTP/1.1\r\nHost: www.example.org\r\nConnection: keep-alive, X-Hop\r\n"
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0\r\n"
      "Accept: text/html,application/xhtml+xml\r\nAccept: application/xml;q=0.9\r\n"
      "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n"
      "Cookie: session=0123456789abcdef0123456789abcdef\r\n"
      "X-Forwarded-For: 2001:db8:1111:2222:3333:4444:5555:6666\r\n"
      "Referer: http://www.example.org/a/rather/long/path/of/the/page/before\r\n\r\n";
  const std::string answer = answer_text(
      "Date: Sat, 21 Nov 2026 09:00:00 GMT\r\nServer: Apache\r\nContent-Type: text/html\r\n"
      "Last-Modified: Sat, 21 Nov 2026 08:00:00 GMT\r\nETag: \"abc\"\r\n"
      "Cache-Control: max-age=60\r\nExpires: Sat, 21 Nov 2026 09:01:00 GMT\r\n"
      "Vary: Accept\r\nVary: Cookie\r\nKeep-Alive: timeout=5, max=99\r\n"
      "Connection: Keep-Alive\r\n",
      std::string(1024, 'b'));
  Worker worker;
  REQUIRE(openssl_is_counted);
  REQUIRE(worker.serve(request, answer));
  const Sketch request_sketch = worker.request_sketch;
  const Sketch answer_sketch = worker.answer_sketch;

  const std::size_t before = allocations;
  bool served = true;
  for (int i = 0; i < 100; ++i)
    served = served && worker.serve(request, answer);
  const std::size_t after = allocations;

  CHECK(served);
  CHECK(after - before == 0);
  CHECK(before > 0);  // the counter counts
  CHECK(worker.request_sketch == request_sketch);
  CHECK(worker.answer_sketch == answer_sketch);
}

}  // namespace prophecy::sketch
