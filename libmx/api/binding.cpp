// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where a process runs. See binding.hpp.
#include "libmx/api/binding.hpp"

#include "driver/base/text_file.hpp"

#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sstream>

namespace emx::api {
namespace {

constexpr const char *default_file = "/tmp/open-mx.bindings.dat";

std::vector<unsigned> one(const std::string &text)
{
    char *end = nullptr;
    const unsigned long cpu = std::strtoul(text.c_str(), &end, 10);
    if (end == text.c_str() || *end || cpu >= CPU_SETSIZE)
        return {};
    return {static_cast<unsigned>(cpu)};
}

std::vector<unsigned> of_mask(unsigned long long mask)
{
    std::vector<unsigned> list;
    for (unsigned cpu = 0; cpu < 64; ++cpu)
        if (mask >> cpu & 1)
            list.push_back(cpu);
    return list;
}

std::vector<unsigned> from_file(const std::string &path, uint64_t nic_id, uint32_t endpoint)
{
    std::istringstream file = read_text_file(path);
    for (std::string line; std::getline(file, line);) {
        unsigned m[6], number = 0, irq = 0;
        unsigned long long mask = 0;
        if (std::sscanf(line.c_str(), "board %x:%x:%x:%x:%x:%x ep %u irq %u mask %llx", &m[0], &m[1], &m[2],
                        &m[3], &m[4], &m[5], &number, &irq, &mask) != 9)
            continue;
        uint64_t mac = 0;
        for (const unsigned byte : m)
            mac = mac << 8 | (byte & 0xff);
        if (mac == nic_id && number == endpoint)
            return of_mask(mask);
    }
    return {};
}

} // namespace

std::vector<unsigned> processors_for(const std::string &spec, uint64_t nic_id, uint32_t endpoint)
{
    if (spec.rfind("all:", 0) == 0)
        return one(spec.substr(4));
    if (spec == "file")
        return from_file(default_file, nic_id, endpoint);
    if (spec.rfind("file:", 0) == 0)
        return from_file(spec.substr(5), nic_id, endpoint);
    std::istringstream list(spec);
    std::string item;
    for (uint32_t i = 0; std::getline(list, item, ','); ++i)
        if (i == endpoint)
            return one(item);
    return {};
}

bool bind_thread(const std::vector<unsigned> &processors)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : processors)
        CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof(set), &set) == 0;
}

} // namespace emx::api
