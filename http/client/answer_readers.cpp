#include "http/client/answer_readers.hpp"

#include <utility>

namespace prophecy::http {
namespace {

constexpr std::size_t kSpareMax = 64;
constexpr std::size_t kKeptBytesMax = 16 << 10;  // of the fields, and of the body

}  // namespace

std::unique_ptr<AnswerReader> AnswerReaders::take() {
  if (spare_.empty()) return std::make_unique<AnswerReader>(limits_);
  std::unique_ptr<AnswerReader> reader = std::move(spare_.back());
  spare_.pop_back();
  return reader;
}

void AnswerReaders::give_back(std::unique_ptr<AnswerReader> reader) {
  if (spare_.size() == kSpareMax) return;
  Response& response = reader->response;
  response.fields.clear_and_shrink(kKeptBytesMax);
  if (response.body.capacity() > kKeptBytesMax) std::string().swap(response.body);
  spare_.push_back(std::move(reader));
}

}  // namespace prophecy::http
