#include "http/client/origin_tls.hpp"

#include <sys/epoll.h>

namespace prophecy::http {

std::unique_ptr<OriginTls> OriginTls::make(transport::TlsClient& client, int socket) {
  std::unique_ptr<OriginTls> tls(new OriginTls(socket));
  tls->channel_ = client.connect(tls->socket_);
  return tls->channel_ ? std::move(tls) : nullptr;
}

transport::IoStatus OriginTls::handshake() {
  socket_.note(EPOLLIN | EPOLLOUT);
  return channel_->handshake();
}

transport::IoResult OriginTls::write(std::string_view bytes) {
  socket_.note(EPOLLOUT);
  return channel_->write(bytes, {});
}

void OriginTls::on_readable() {
  socket_.note(EPOLLIN);
}

}  // namespace prophecy::http
