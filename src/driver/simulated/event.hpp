#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <memory>
#include <string>

#include "completion.hpp"

namespace memarray::simulated {

struct Event {
  cu::Context context = nullptr;
  unsigned flags = 0;
  std::string site;
  std::shared_ptr<Completion> recorded;  // of the last record; null: none
};

}  // namespace memarray::simulated
