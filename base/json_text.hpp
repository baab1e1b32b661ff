// Writing texts into JSON without a document in memory.
#pragma once

#include <string>
#include <string_view>

namespace prophecy {

// What stands between the quotes. Bytes from 0x80 on stay as they are.
void append_json_text(std::string_view text, std::string& out);

}  // namespace prophecy
