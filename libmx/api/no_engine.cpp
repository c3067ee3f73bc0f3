// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Stands in for the engine in a build that has none: mx_init finds no service.
#include "driver/engine/engine.hpp"

namespace emx {

std::unique_ptr<Device> make_engine(const EngineConfig &, DeviceError &error)
{
    error = {6, "this build of the library has no engine"};
    return nullptr;
}

} // namespace emx
