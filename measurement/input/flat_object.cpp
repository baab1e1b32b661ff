#include "measurement/input/flat_object.hpp"

namespace prophecy::measurement {

std::string_view FlatObject::read(std::string_view json) {
  count_ = 0;
  depth_ = 0;
  is_object_ = false;
  kept_ = false;
  reader_.reset();
  reader_.feed(json);
  reader_.finish();
  if (!reader_.problem().empty()) return reader_.problem();
  return is_object_ ? "" : "no JSON object";
}

const FlatObject::Member* FlatObject::find(std::string_view name) const {
  for (std::size_t i = count_; i > 0; --i) {
    if (members_[i - 1].name == name) return &members_[i - 1];
  }
  return nullptr;
}

std::string_view FlatObject::text(std::string_view name) const {
  const Member* member = find(name);
  return member == nullptr ? std::string_view{} : member->value;
}

void FlatObject::on_begin(bool object) {
  if (depth_ == 0) is_object_ = object;
  // An object or an array is no member here.
  if (depth_ == 1 && kept_) --count_;
  kept_ = false;
  ++depth_;
}

void FlatObject::on_end(bool /*object*/) {
  --depth_;
}

void FlatObject::on_key(std::string_view key) {
  if (depth_ != 1) return;
  if (count_ == members_.size()) members_.emplace_back();
  Member& member = members_[count_++];
  member.name.assign(key);
  member.value.clear();
  kept_ = true;
}

void FlatObject::on_text(std::string_view piece) {
  if (kept_) members_[count_ - 1].value.append(piece);
}

void FlatObject::on_text_end() {
  kept_ = false;
}

void FlatObject::on_scalar(std::string_view text) {
  if (kept_) members_[count_ - 1].value.assign(text);
  kept_ = false;
}

}  // namespace prophecy::measurement
