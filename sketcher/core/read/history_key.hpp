// The key under which the history holds a read.
#pragma once

#include "canonical/request_form.hpp"
#include "history_table/partition.hpp"
#include "history_table/write_floors.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketcher {

// s(q), in the partition of its URI. Requires the form of a read.
[[nodiscard]] inline Sketch history_key(const WriteFloors& floors,
                                        const sketch::SketchFunction& function,
                                        const sketch::RequestForm& form) {
  return key_in(floors.place_of(form.authority, form.target).partition, function.of(form));
}

}  // namespace prophecy::sketcher
