#include "http/client/answer_readers.hpp"

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

const MessageLimits kLimits;

// Has read an answer with a field and a body of such sizes.
std::unique_ptr<AnswerReader> used(AnswerReaders& readers, std::size_t field, std::size_t body) {
  auto reader = readers.take();
  reader->parser.reset(false);
  const std::string text = "HTTP/1.1 200 OK\r\nX: " + std::string(field, 'x') +
                           "\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" +
                           std::string(body, 'b');
  const ParseProgress head = reader->parser.feed(text);
  REQUIRE(head.state == ParseState::head_done);
  REQUIRE(reader->parser.feed(std::string_view(text).substr(head.consumed)).state ==
          ParseState::complete);
  return reader;
}

}  // namespace

TEST_CASE("the reader that was used last is used next, with its storage") {
  AnswerReaders readers(kLimits);
  auto first = used(readers, 100, 1000);
  auto second = used(readers, 100, 1000);
  const AnswerReader* const last = second.get();
  const char* const storage = second->response.body.data();
  readers.give_back(std::move(first));
  readers.give_back(std::move(second));
  const auto again = readers.take();
  CHECK(again.get() == last);
  again->parser.reset(false);
  CHECK(again->response.body.empty());
  CHECK(again->response.fields.size() == 0);
  CHECK(again->response.body.data() == storage);
}

TEST_CASE("spare readers are bounded, and hold little each") {
  AnswerReaders readers(kLimits);
  readers.give_back(used(readers, 30'000, 200'000));
  const auto large = readers.take();
  CHECK(large->response.body.capacity() < 100);
  CHECK(large->response.fields.held_bytes() < 1000);

  std::vector<std::unique_ptr<AnswerReader>> many;
  many.reserve(200);
  for (int i = 0; i < 200; ++i)
    many.push_back(used(readers, 10, 500));
  for (auto& reader : many)
    readers.give_back(std::move(reader));
  std::size_t kept = 0;
  while (readers.take()->response.body.capacity() >= 500)
    ++kept;
  CHECK(kept == 16);
}

}  // namespace prophecy::http
