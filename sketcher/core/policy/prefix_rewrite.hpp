// `PrefixRewrite` replaces the path prefix of a route by the one that its origins know, and undoes
// that in the references of their answers.
//
// The rewritten target is what the key of a read covers and what origins are sent, so an entry of
// the history stands for one request of an origin, whichever route it came by.
//
// Immutable once made.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prophecy::sketcher {

// `path` with `to` in place of `from`. Requires takes(from, path); both pass is_path_prefix().
[[nodiscard]] std::string replace_prefix(std::string_view path, std::string_view from,
                                         std::string_view to);

class PrefixRewrite {
 public:
  PrefixRewrite(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  // Rewrites a target in origin form whose path `from` takes. False: an origin may read the result
  // as a path outside of `to`.
  [[nodiscard]] bool apply(std::string& target) const;
  // For a Location or Content-Location of an answer: the reference by which clients reach what it
  // leads to. Nothing: it stays as it is. A relative path does, since it leads to the same place
  // from either path; so does one that leads elsewhere.
  [[nodiscard]] std::optional<std::string> restore(std::string_view reference,
                                                   std::string_view scheme,
                                                   std::string_view authority) const;

  [[nodiscard]] const std::string& to() const { return to_; }

 private:
  std::string from_;
  std::string to_;
};

}  // namespace prophecy::sketcher
