#include "sketcher/reads/floor_raises.hpp"

namespace prophecy::sketcher {
namespace {

// No client asks for it: the member that does says so by its own name of "nobody".
constexpr std::string_view kNoClient = "::";

}  // namespace

void ask_for_floor(http::Http2ClientConnection& connection, http::Http2Call& call,
                   const http::BaseUri& uri, std::string_view floor) {
  // A member that does not know the field, being of another build, does nothing that matters.
  http::Http2RequestHead head("OPTIONS", uri.scheme, uri.authority, uri.target);
  head.add(kClientField, kNoClient);
  head.add(kFloorField, floor);
  connection.call(call, head, {}, nullptr);
}

void FloorRaises::ask(std::size_t index, Partition partition, const http::BaseUri& uri,
                      const FloorField& floor) {
  while (calls_.size() <= index)
    calls_.push_back(std::make_unique<Call>(*this, calls_.size()));
  Call& call = *calls_[index];
  const dht::OwnerWord word = links_.owner(partition);
  if (word.stage() != dht::Stage::elsewhere) return;
  if (call.is_under_way) {
    if (call.slot == word.slot()) return;
    if (call.link() != nullptr) call.link()->remove(call);
  }
  call.slot = word.slot();
  call.scheme = uri.scheme;
  call.authority.assign(uri.authority);
  call.target.assign(uri.target);
  call.field = to_text(floor);
  call.is_under_way = true;
  if (!links_.call(call.slot, call)) call.is_under_way = false;
}

void FloorRaises::cancel() {
  for (const auto& call : calls_) {
    call->is_under_way = false;
    if (call->link() != nullptr) call->link()->remove(*call);
  }
}

void FloorRaises::Call::send(http::Http2ClientConnection& connection) {
  ask_for_floor(connection, *this, {scheme, authority, target}, field);
}

void FloorRaises::Call::on_bytes(std::string_view bytes) {
  link()->consume(*this, bytes.size());
}

void FloorRaises::Call::on_end(http::Http2CallEnd end) {
  is_under_way = false;
  const bool is_raised = end == http::Http2CallEnd::answered && response.status == 200 &&
                         response.fields.find("prophecy-reason") == kFloorRaised;
  if (!is_raised) return;
  raises.links_.counters(slot).floors_raised.add();
  raises.owner_.on_floor_raised(index);
}

}  // namespace prophecy::sketcher
