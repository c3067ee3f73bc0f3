// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// In place of the devices of a real host, which a fuzzer never opens: its library runs on the simulator's.
#include "driver/engine/engine.hpp"
#include "driver/kernel_client/kernel_device.hpp"

namespace emx {

CommandWay command_way(std::string_view) { return {}; }
BulkWay bulk_way(const std::string &) { return {}; }

std::unique_ptr<Device> make_kernel_device(const std::string &, bool, DeviceError &error, CommandWay)
{
    error = {1, "a fuzzer has no device but the simulator's"};
    return nullptr;
}

std::unique_ptr<Device> make_engine(const EngineConfig &, DeviceError &error)
{
    error = {1, "a fuzzer has no device but the simulator's"};
    return nullptr;
}

} // namespace emx
