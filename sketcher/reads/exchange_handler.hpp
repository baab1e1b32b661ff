// `ExchangeHandlers` lets exchanges handle the requests of sessions.
#pragma once

#include "sketcher/reads/request_handler.hpp"

namespace prophecy::sketcher {

class ExchangeHandler final : public RequestHandler {
 public:
  ExchangeHandler(WorkerContext& context, AnswerSink& sink, RequestSource source)
      : exchange_(context, sink, source) {}

  void start(http::Request& request, const ClientInfo& client, TimePoint now) override {
    exchange_.start(request, client, now);
  }
  [[nodiscard]] std::optional<sketch::Refusal> refuse_by_head(const http::Request& request,
                                                              const ClientInfo& client,
                                                              std::uint64_t body_bytes) override {
    return exchange_.refuse_by_head(request, client, body_bytes);
  }
  void abandon() override { exchange_.abandon(); }
  void on_writable() override { exchange_.on_writable(); }
  [[nodiscard]] bool reads_fast() const override { return exchange_.reads_fast(); }
  [[nodiscard]] bool asks_group() const override { return exchange_.asks_group(); }
  [[nodiscard]] bool is_idle() const override { return exchange_.is_idle(); }
  [[nodiscard]] bool streams() const override { return exchange_.streams(); }
  void shrink(std::size_t bytes_max) override { exchange_.shrink(bytes_max); }
  [[nodiscard]] std::size_t request_bytes() const override { return exchange_.request_bytes(); }
  [[nodiscard]] const AnswerRuling* ruling() const override { return exchange_.ruling(); }

 private:
  Exchange exchange_;
};

class ExchangeHandlers final : public RequestHandlers {
 public:
  ExchangeHandlers(WorkerContext& context, RequestSource source)
      : context_(context), source_(source) {}

  [[nodiscard]] std::unique_ptr<RequestHandler> make(AnswerSink& sink) override {
    return std::make_unique<ExchangeHandler>(context_, sink, source_);
  }

 private:
  WorkerContext& context_;
  const RequestSource source_;
};

}  // namespace prophecy::sketcher
