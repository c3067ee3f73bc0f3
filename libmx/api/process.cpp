// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Process-wide state: initialisation, finalisation, fork, the global error handler.
#include "libmx/api/process.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/printable.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/engine/engine.hpp"
#include "driver/kernel_client/kernel_device.hpp"
#include "libmx/api/hooks.hpp"
#include "libmx/api/verbose.hpp"
#include "libmx/endpoint/endpoint.hpp"

#include <cstdio>
#include <ctime>
#include <pthread.h>

namespace emx::api {

namespace {

Process real_process;

const char *variable(const char *name)
{
    Process &p = process();
    return p.environment ? p.environment(name) : environment_variable(name);
}

/// The parent's endpoints are not the child's: forget them without closing anything.
void after_fork_in_child()
{
    new (&real_process.mutex) std::mutex; // some thread of the parent's may have held it
    if (!real_process.context)
        return;
    (void)real_process.context.release(); // NOLINT: the descriptors and threads behind it are the parent's
    real_process.inherited = true;
}

std::unique_ptr<Device> make_device(const Conf &conf, DeviceError &error)
{
    Process &p = process();
    if (p.factory)
        return p.factory(conf, error);
    if (conf.device != "engine") {
        auto device =
            make_kernel_device(conf.boards, conf.device == "kernel", error, command_way(conf.commands));
        if (device || error.code != 0)
            return device;
    }
    EngineConfig config;
    config.boards = conf.boards;
    config.agent_program = conf.agent;
    config.peers = conf.peers_file;
    config.group = conf.group;
    config.endpoint_max = static_cast<uint32_t>(conf.endpoints_max);
    config.bulk_way = bulk_way(conf.bulk);
    return make_engine(config, error);
}

Context::Teller teller(const std::string &prefix)
{
    return [prefix](const std::string &text, const BoardInfo *board, uint32_t endpoint) {
        About about;
        if (board)
            about = {board->number, endpoint, board->host_name};
        std::string line = expand_prefix(prefix, about) + text;
        if (board)
            line += ", board " + std::to_string(board->number) + " endpoint " + std::to_string(endpoint);
        line = printable(line) + '\n';
        const sys::Uncancelled here;
        std::fwrite(line.data(), 1, line.size(), stderr);
    };
}

mx_return_t initialise()
{
    Process &p = process();
    std::unique_lock lock(p.mutex);
    auto refuse = [&](mx_return_t code, const std::string &text) {
        lock.unlock();
        return fail(code, text.c_str());
    };
    if (p.context)
        return refuse(MX_ALREADY_INITIALIZED, "mx_init: the library is initialised already");
    Conf conf;
    std::string text;
    if (!load_conf(conf, variable, text))
        return refuse(MX_BAD_BAD_BAD, "mx_init: " + text);
    DeviceError error;
    std::unique_ptr<Device> device = make_device(conf, error);
    if (!device)
        return refuse(static_cast<mx_return_t>(error.code), "mx_init: " + error.text);
    // The process gets the context last: memory may be short for any of these steps.
    auto context = std::make_unique<Context>(std::move(device), conf, global_handler);
    context->set_warner(teller(conf.verbose_prefix));
    if (conf.verbose) {
        context->set_teller(teller(conf.verbose_prefix));
        context->tell("initialised, " + std::to_string(context->device().boards().size()) + " boards");
    }
    if (p.helper_thread)
        context->start_helper();
    else
        context->set_watcher(p.watcher);
    p.context = std::move(context);
    p.inherited = false;
    static std::once_flag once;
    if (&p == &real_process)
        std::call_once(once, [] { pthread_atfork(nullptr, nullptr, after_fork_in_child); });
    return MX_SUCCESS;
}

ErrorHandler default_handler()
{
    Conf conf;
    std::string error;
    load_conf(conf, variable, error);
    return conf.fatal_errors ? emx_errors_are_fatal : emx_errors_return;
}

} // namespace

Process *current_process = &real_process;

void set_process(Process *process) { current_process = process ? process : &real_process; }

ErrorHandler global_handler()
{
    if (ErrorHandler own = process().handler.load())
        return own;
    return default_handler();
}

void wait_for_debugger()
{
    Conf conf;
    std::string error;
    load_conf(conf, variable, error);
    for (int left = conf.abort_sleeps; left > 0; --left)
        sys::sleep_ms(1000);
}

mx_return_t fail(mx_return_t code, const char *text)
{
    std::string copy(text);
    return global_handler()(copy.data(), code);
}

} // namespace emx::api

using namespace emx::api;

mx_return_t mx__init_api(int api)
{
    constexpr int generation = 3;
    if (api == 0 || (api >> 8) != generation)
        return fail(MX_BAD_LIB_VERSION,
                    "mx_init: the program was built for another generation of the MX interface");
    try {
        return initialise();
    } catch (const std::bad_alloc &) {
        return fail(MX_NO_RESOURCES, "mx_init: out of memory");
    } catch (const std::exception &e) {
        return fail(MX_BAD_BAD_BAD, e.what());
    }
}

mx_return_t mx_finalize(void)
{
    Process &p = process();
    std::unique_lock lock(p.mutex);
    if (!p.context) {
        lock.unlock();
        return fail(MX_NOT_INITIALIZED, "mx_finalize: the library is not initialised");
    }
    p.context->close_all();
    p.context->tell("finalised");
    p.context.reset();
    return MX_SUCCESS;
}

emx::ErrorHandler emx::api::set_global_error_handler(ErrorHandler handler)
{
    ErrorHandler previous = process().handler.exchange(handler);
    return previous ? previous : default_handler();
}

mx_error_handler_t mx_set_error_handler(mx_error_handler_t handler)
{
    return set_global_error_handler(handler).mx();
}
