#include "sketcher/listener_settings.hpp"

namespace prophecy::sketcher {

std::vector<ListenerSettings> read_listeners(ConfigSection root) {
  std::vector<ListenerSettings> listeners;
  for (ConfigSection& section : root.sections("listener")) {
    ListenerSettings listener;
    listener.address = section.endpoint("address");
    listener.peers = read_peer_settings(section);
    listeners.push_back(std::move(listener));
  }
  if (listeners.empty()) root.mistake("listener", "missing; expected at least one [[listener]]");
  return listeners;
}

}  // namespace prophecy::sketcher
