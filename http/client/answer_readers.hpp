// What reads an answer: a parser, and the message that it fills. One is lent to a connection from
// an answer's first byte to its last. Most answers come in one piece, so the one that was used a
// moment ago, and lies in the processor's cache, serves all connections, and those that wait hold
// none.
//
// Single-threaded.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "http/message.hpp"
#include "http/parser.hpp"

namespace prophecy::http {

struct AnswerReader {
  explicit AnswerReader(const MessageLimits& limits) : parser(response, limits) {}
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  Response response;
  ResponseParser parser;
};

class AnswerReaders {
 public:
  // A spare reader keeps the storage of a body up to this.
  static constexpr std::size_t kBodyBytesMax = 128 << 10;

  // The limits must outlive all readers.
  explicit AnswerReaders(const MessageLimits& limits) : limits_(limits) {}

  // Its parser is to be reset.
  [[nodiscard]] std::unique_ptr<AnswerReader> take();
  // Storage of a body beyond that is to be taken out by whoever has use for it.
  void give_back(std::unique_ptr<AnswerReader> reader);

 private:
  const MessageLimits& limits_;
  std::vector<std::unique_ptr<AnswerReader>> spare_;  // the last used one at the back
};

}  // namespace prophecy::http
