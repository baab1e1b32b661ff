#include "dht/zookeeper/coordination_client.hpp"

namespace prophecy::zookeeper {

Result<std::unique_ptr<CoordinationClient>> CoordinationClient::make(boost::asio::io_context& loop,
                                                                     ClientSettings settings,
                                                                     Logger& log,
                                                                     Handler& handler) {
  std::unique_ptr<CoordinationClient> made(new CoordinationClient(handler));
  auto client = Client::make(loop, std::move(settings), log, *made);
  if (!client) return client.error();
  made->client_ = std::move(*client);
  return made;
}

void CoordinationClient::call(dht::CoordinationCall call) {
  for (CoordinationCalls::Numbered& request : calls_.begin(std::move(call))) {
    client_->call(request.number, std::move(request.request));
  }
}

void CoordinationClient::on_completion(Completion completion) {
  if (auto result = calls_.complete(std::move(completion))) {
    handler_.on_result(std::move(*result));
  }
}

void CoordinationClient::on_report(const Report& report) {
  if (report.kind == Report::Kind::closed) return handler_.on_closed();
  if (const auto event = CoordinationCalls::event(report.kind)) handler_.on_session(*event);
}

}  // namespace prophecy::zookeeper
