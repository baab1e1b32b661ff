#include "consistency/group/service.hpp"

#include <utility>

namespace prophecy::consistency {

Service::Service(const RunSettings& settings, const sketch::Profile& profile,
                 simulation::Random& random, Listener listener)
    : settings_(settings),
      random_(random),
      listener_(std::move(listener)),
      origins_(settings, random),
      forms_(profile) {}

void Service::calm_down() {
  is_calm_ = true;
  is_hanging_ = false;
  origins_.calm_down();
}

void Service::show_liars(const sketch::AnswerForm& form) {
  if (form.body.empty()) return;
  PageAnswer seen{.status = form.status, .text = std::string(form.body)};
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == "set-cookie") seen.cookie = value;
  }
  origins_.liars().note_seen(seen);
}

}  // namespace prophecy::consistency
