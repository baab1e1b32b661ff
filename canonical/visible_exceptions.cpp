#include "canonical/visible_exceptions.hpp"

#include "http/writer.hpp"

namespace prophecy::sketch {
namespace {

std::string_view part_of(std::string_view wire, TextRange range) {
  return wire.substr(range.begin, range.end - range.begin);
}

}  // namespace

void VisibleExceptions::append_group_wire(std::string_view wire, std::string& out) const {
  out.append(wire.substr(0, fields_.begin));
  append_group_fields(out);
  out.append(part_of(wire, {fields_.end, client_.begin}));
  append_group_client(out);
  out.append(wire.substr(client_.end));
}

bool VisibleExceptions::any_in(std::string_view wire) const {
  std::string constant;
  append_group_fields(constant);
  if (constant != part_of(wire, fields_)) return true;
  constant.clear();
  append_group_client(constant);
  return constant != part_of(wire, client_);
}

void VisibleExceptions::append_group_fields(std::string& out) const {
  if (has_agent_) http::append_field(out, "user-agent", kGroupUserAgent);
}

void VisibleExceptions::append_group_client(std::string& out) const {
  if (group_client_) append_client(out, style_, group_client_->to_string());
}

}  // namespace prophecy::sketch
