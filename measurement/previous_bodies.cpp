#include "measurement/previous_bodies.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "base/unnamed_file.hpp"

namespace prophecy::measurement {
namespace {

constexpr const char* kFile = "the temporary file of bodies";

}  // namespace

Result<> PreviousBodies::add(UrlNumber url, const Answer& answer) {
  if (url >= last_.size()) last_.resize(std::max<std::size_t>(url + 1, 2 * last_.size()));
  Last& last = last_[url];
  const bool known = last.body != Body::none;
  if (known && answer.time < last.time) {
    if (last.sketch != answer.sketch) figures_.add(NotCompared::out_of_order);
    return {};
  }
  last.time = answer.time;
  if (known && last.sketch == answer.sketch) {
    // A revisit may have come first.
    return last.body == Body::absent ? keep(last, answer) : Result<>{};
  }
  if (known) {
    if (auto result = compare(url, last, answer); !result) return result;
  }
  last.sketch = answer.sketch;
  return keep(last, answer);
}

Result<> PreviousBodies::compare(UrlNumber url, const Last& last, const Answer& answer) {
  if (last.body == Body::absent || answer.body_state == BodyState::absent) {
    figures_.add(NotCompared::no_body);
  } else if (last.body == Body::too_large || answer.body_state == BodyState::too_large) {
    figures_.add(NotCompared::too_large);
  } else if (written_ - last.place > bytes_max_) {
    figures_.add(NotCompared::spool_full);
  } else {
    before_.resize(std::size_t{last.size} + last.fields_size);
    if (auto result = read(last.place, before_); !result) return result;
    const std::string_view before(before_);
    const std::string_view body = before.substr(0, last.size);
    figures_.add(compare_bodies(body, answer.body));
    if (body == answer.body) rules_.add_transition(before.substr(last.size), answer.fields);
    causes_.add(url, {before.substr(last.size), body}, {answer.fields, answer.body});
  }
  return {};
}

Result<> PreviousBodies::keep(Last& last, const Answer& answer) {
  if (answer.body_state == BodyState::absent) {
    last.body = Body::absent;
    return {};
  }
  if (answer.body_state == BodyState::too_large ||
      answer.body.size() + answer.fields.size() > bytes_max_) {
    last.body = Body::too_large;
    return {};
  }
  last.body = Body::kept;
  last.place = written_;
  last.size = static_cast<std::uint32_t>(answer.body.size());
  last.fields_size = static_cast<std::uint32_t>(answer.fields.size());
  if (auto result = write(answer.body); !result) return result;
  return write(answer.fields);
}

Result<> PreviousBodies::write(std::string_view bytes) {
  if (!file_) {
    auto file = make_unnamed_file(folder_);
    if (!file) return std::move(file.error());
    file_ = std::move(*file);
  }
  while (!bytes.empty()) {
    const std::uint64_t offset = written_ % bytes_max_;
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), bytes_max_ - offset);
    const ssize_t done = ::pwrite(file_.get(), bytes.data(), size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return io_error(kFile);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    written_ += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<> PreviousBodies::read(std::uint64_t place, std::string& bytes) const {
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::uint64_t offset = (place + begin) % bytes_max_;
    const std::size_t size = std::min<std::uint64_t>(bytes.size() - begin, bytes_max_ - offset);
    const ssize_t done =
        ::pread(file_.get(), bytes.data() + begin, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return io_error(kFile);
    begin += static_cast<std::size_t>(done);
  }
  return {};
}

}  // namespace prophecy::measurement
