#include "sketcher/installation/tls_listeners.hpp"

#include <algorithm>
#include <new>

#include <sys/mman.h>

#include "base/random.hpp"
#include "base/wipe.hpp"

namespace prophecy::sketcher {

Result<std::unique_ptr<TlsListeners>> TlsListeners::load(
    const std::vector<ListenerSettings>& listeners, const Complain& complain) {
  void* memory = ::mmap(nullptr, sizeof(transport::TicketKeys), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("shared memory");
  static_cast<void>(::madvise(memory, sizeof(transport::TicketKeys), MADV_DONTDUMP));
  std::unique_ptr<TlsListeners> all(new TlsListeners(new (memory) transport::TicketKeys));
  all->rotate_tickets();
  for (const ListenerSettings& listener : listeners) {
    all->servers_.emplace_back();
    if (!listener.tls) continue;
    auto server = transport::TlsServer::load(*listener.tls, all->tickets_);
    if (server) {
      all->servers_.back() = std::move(*server);
    } else {
      complain(all->servers_.size() - 1, server.error());
    }
  }
  return all;
}

TlsListeners::~TlsListeners() {
  ::munmap(tickets_, sizeof *tickets_);
}

bool TlsListeners::any() const {
  return std::any_of(servers_.begin(), servers_.end(),
                     [](const auto& server) { return server != nullptr; });
}

Result<> TlsListeners::reload() {
  Result<> first;
  for (const auto& server : servers_) {
    if (!server) continue;
    if (auto loaded = server->reload(); !loaded && first) first = loaded.error();
  }
  return first;
}

void TlsListeners::rotate_tickets() {
  transport::TicketKey fresh;
  const WipeAtEnd wipe(fresh.bytes);
  SecureRandom().fill(fresh.bytes);
  tickets_->rotate(fresh);
}

}  // namespace prophecy::sketcher
