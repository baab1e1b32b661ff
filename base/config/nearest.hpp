// What a misspelt name was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prophecy {

// The one of `names` that the fewest changes of a letter lead to, the first of several; "" when
// all need more than a third of the name's letters, and more than two.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

// "a, b, c".
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

// `; did you mean "limits"?`, with the nearest of `names`; "" when there is none.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       const std::vector<std::string>& names);

// "one, other or third"; "..." for what is beyond four.
[[nodiscard]] std::string alternatives(const std::vector<std::string>& names);

}  // namespace prophecy
