#include "consistency/oracles/attribution.hpp"

namespace prophecy::consistency {

void Attribution::check_verified(const Delivered& delivered) {
  if (!delivered.cookie.empty() && !cookies_.emplace(delivered.cookie).second) {
    breach_.note("attribution: two clients got " + std::string(delivered.cookie));
  }
  const bool reflects = delivered.page == Page::agent || delivered.page == Page::vary ||
                        delivered.page == Page::large;
  if (delivered.status != 200 || !reflects) return;
  const auto text_for = [](std::string_view agent, std::string_view address) {
    return "agent=" + std::string(agent) + " from=" + std::string(address);
  };
  if (delivered.text == text_for(delivered.agent, delivered.address)) return;
  if (delivered.text == text_for(kConstantAgent, kConstantAddress)) return;
  breach_.note("attribution: " + std::string(delivered.agent) + " got \"" +
               std::string(delivered.text) + "\"");
}

void Attribution::check_unverified(bool has_tag) {
  if (has_tag) breach_.note("attribution: an answer that was not verified has an entity tag");
}

void Attribution::check_paired(bool is_paired) {
  if (is_paired) return;
  breach_.note("attribution: on a shared connection a read got the answer to another one");
}

void Attribution::note_patchwork(std::string_view agent) {
  breach_.note("attribution: " + std::string(agent) + " got a body that is of no one text");
}

}  // namespace prophecy::consistency
