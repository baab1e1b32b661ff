#include "sketcher/reads/floor_raises.hpp"

namespace prophecy::sketcher {
namespace {

// No client asks for it: the member that does says so by its own name of "nobody".
constexpr std::string_view kNoClient = "::";

}  // namespace

void FloorRaises::ask(std::size_t index, Partition partition, const std::string& authority,
                      const std::string& target, const FloorField& floor) {
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
  call.authority = authority;
  call.target = target;
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
  // A member that does not know the field, being of another build, does nothing that matters.
  http::Http2RequestHead head("OPTIONS", "http", authority, target);
  head.add(kClientField, kNoClient);
  head.add(kFloorField, field);
  connection.call(*this, head, {}, nullptr);
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
