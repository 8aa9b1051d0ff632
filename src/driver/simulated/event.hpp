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
  std::shared_ptr<Completion> recorded;  // a new one for each record; null: never recorded
};

}  // namespace memarray::simulated
