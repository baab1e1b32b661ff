#include "http/client/answer_readers.hpp"

#include <utility>

namespace prophecy::http {
namespace {

constexpr std::size_t kSpareMax = 16;
constexpr std::size_t kFieldBytesMax = 16 << 10;

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
  response.fields.clear_and_shrink(kFieldBytesMax);
  if (response.body.capacity() > kBodyBytesMax) std::string().swap(response.body);
  spare_.push_back(std::move(reader));
}

}  // namespace prophecy::http
