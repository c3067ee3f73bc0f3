// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Simulated processes: life, death, the helper's schedule. See process.hpp.
#include "process.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <myriexpress.h>

#include <vector>

namespace emx::sim {

namespace {

constexpr uint64_t helper_tick = 20 * ms;
constexpr uint64_t helper_busy_tick = 200 * us;
constexpr uint64_t watch_tick = 60 * us;

/// Libraries of processes that died inside a call: their destructors would wait for the dead.
std::vector<Context *> &graveyard()
{
    static std::vector<Context *> contexts;
    return contexts;
}

} // namespace

Process::Process(Host &host, std::string name, std::function<void(Process &)> body)
    : host_(host), body_(std::move(body))
{
    api_.helper_thread = false;
    api_.watcher = [this] { return watch(); };
    api_.factory = [this](const Conf &, DeviceError &) {
        auto device = std::make_unique<SimDevice>(host_);
        device_ = device.get();
        return device;
    };
    api_.environment = [this](const char *variable) -> const char * {
        auto it = environment.find(variable);
        if (it != environment.end())
            return it->second.c_str();
        // A simulation can be traced as anything else; it goes on all the same.
        return std::strncmp(variable, "EMX_TRACE", 9) == 0 ? std::getenv(variable) : nullptr;
    };
    task_ = &world().spawn(std::move(name), [this] { run(); });
    task_->on_resume = [this] {
        if (frozen_ || killed_)
            return false;
        api::set_process(&api_);
        return true;
    };
    schedule_helper(helper_tick);
}

Process::~Process()
{
    *alive_ = false;
    if (!ended_ && api_.context)
        graveyard().push_back(api_.context.release());
    api::set_process(nullptr);
}

void Process::run()
{
    body_(*this);
    if (api_.context) {
        mx_set_error_handler(MX_ERRORS_RETURN);
        mx_finalize();
    }
    device_ = nullptr;
    ended_ = true;
}

void Process::sleep(uint64_t ns)
{
    uint64_t end = world().now() + ns;
    while (world().now() < end)
        world().block(end);
}

void Process::kill()
{
    if (done())
        return;
    killed_ = true;
    if (api_.context)
        device_->kill();
    if (world().current() == task_)
        world().block(never);
}

void Process::thaw()
{
    frozen_ = false;
    ready();
}

uint64_t Process::helper_delay() const
{
    const auto given = environment.find("EMX_HELPER_MS");
    return given == environment.end() ? helper_tick : std::strtoull(given->second.c_str(), nullptr, 10) * ms;
}

/// Messages are held back from now on.
bool Process::watch()
{
    if (helper_delay() == 0)
        return false;
    if (!watching_)
        schedule_watch();
    return watching_ = true;
}

void Process::schedule_watch()
{
    world().after(watch_tick, [this, alive = alive_] {
        if (!*alive || done())
            return;
        bool any = frozen_;
        if (!frozen_ && api_.context) {
            api::set_process(&api_);
            any = api_.context->flush_late(false);
        }
        watching_ = any;
        if (any)
            schedule_watch();
    });
}

void Process::schedule_helper(uint64_t delay)
{
    world().after(delay, [this, alive = alive_] {
        if (!*alive || done())
            return;
        bool worked = false;
        if (!frozen_ && api_.context && helper_delay() > 0) {
            api::set_process(&api_);
            worked = api_.context->helper_pass();
        }
        schedule_helper(worked ? helper_busy_tick : std::max(helper_delay(), ms));
    });
}

} // namespace emx::sim
