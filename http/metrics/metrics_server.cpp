#include "http/metrics/metrics_server.hpp"

#include <array>
#include <chrono>

#include <boost/asio/write.hpp>

#include "http/parser.hpp"
#include "http/writer.hpp"

namespace prophecy::http {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {
constexpr std::size_t kConnectionsMax = 16;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kRetryDelay = std::chrono::milliseconds(100);
constexpr MessageLimits kLimits{
    .target_bytes_max = 256, .header_bytes_max = 8192, .header_count_max = 64, .body_bytes_max = 0};
}  // namespace

// One request, one answer; kept alive by its pending operations.
class MetricsServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(MetricsServer& server, tcp::socket socket)
      : server_(server),
        open_(server.open_),
        socket_(std::move(socket)),
        patience_(socket_.get_executor()),
        parser_(request_, kLimits) {
    open_->insert(this);
  }
  ~Connection() { open_->erase(this); }

  void start() {
    patience_.expires_after(kPatience);
    patience_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->close();
    });
    read();
  }

  void close() {
    patience_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(input_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              if (error) return self->finish();
                              self->on_bytes({self->input_.data(), size});
                            });
  }

  void on_bytes(std::string_view bytes) {
    for (;;) {
      const ParseProgress progress = parser_.feed(bytes);
      bytes.remove_prefix(progress.consumed);
      switch (progress.state) {
        case ParseState::head_done:
          continue;
        case ParseState::need_more:
          return read();
        case ParseState::failed:
          return answer_error(parser_.failure().status, parser_.failure().reason);
        case ParseState::complete:
          if (request_.target != "/metrics") return answer_error(404, "expected /metrics");
          if (request_.method != "GET") return answer_error(405, "expected GET");
          return answer_page();
      }
    }
  }

  void answer_page() { answer(200, "text/plain; version=0.0.4; charset=utf-8", server_.page_()); }

  void answer_error(std::uint16_t status, std::string_view reason) {
    answer(status, "text/plain", std::to_string(status) + " " + std::string(reason) + "\n");
  }

  void answer(std::uint16_t status, std::string_view type, std::string_view body) {
    append_status_line(output_, status);
    append_field(output_, "content-type", type);
    append_content_length(output_, body.size());
    append_field(output_, "connection", "close");
    end_head(output_);
    output_ += body;
    write();
  }

  void write() {
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code, std::size_t) { self->finish(); });
  }

  void finish() {
    patience_.cancel();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
  }

  MetricsServer& server_;
  std::shared_ptr<Connections> open_;
  tcp::socket socket_;
  asio::steady_timer patience_;
  Request request_;
  RequestParser parser_;
  std::array<char, 2048> input_;
  std::string output_;
};

MetricsServer::MetricsServer(asio::io_context& loop, Page page)
    : acceptor_(loop), retry_(loop), page_(std::move(page)) {}

MetricsServer::~MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::listen(asio::io_context& loop,
                                                             const Endpoint& address, Page page) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(loop, std::move(page)));
  const tcp::endpoint endpoint(asio::ip::make_address(address.address), address.port);
  error_code error;
  server->acceptor_.open(endpoint.protocol(), error);
  if (!error) server->acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) server->acceptor_.bind(endpoint, error);
  if (!error) server->acceptor_.listen(16, error);
  if (error) {
    return Error{ErrorKind::io,
                 "cannot listen on " + to_string(address) + " for metrics: " + error.message()};
  }
  server->accept();
  return server;
}

void MetricsServer::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) {
      if (open_->size() < kConnectionsMax)
        std::make_shared<Connection>(*this, std::move(socket))->start();
      return accept();
    }
    retry_.expires_after(kRetryDelay);
    retry_.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

Endpoint MetricsServer::local_address() const {
  error_code ignored;
  const auto local = acceptor_.local_endpoint(ignored);
  return {local.address().to_string(), local.port()};
}

void MetricsServer::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  for (Connection* connection : *open_)
    connection->close();
}

}  // namespace prophecy::http
