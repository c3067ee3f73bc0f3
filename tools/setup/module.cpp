// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Loading and unloading of the kernel module, by modprobe.
#include "tools/setup/module.hpp"

#include "driver/base/text_file.hpp"
#include "tools/cli.hpp"
#include "tools/setup/program.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>

namespace emx {
namespace {

std::string kernel_release()
{
    utsname name{};
    ::uname(&name);
    return name.release;
}

} // namespace

std::string module_remedy()
{
    return "dkms install ethermx/" EMX_VERSION " builds the module for this kernel, " + kernel_release();
}

bool module_loaded() { return ::access("/sys/module/ethermx", F_OK) == 0; }

bool module_installed()
{
    // The option shows the commands of loading; busybox knows no --dry-run.
    return module_loaded() || run_program("modprobe", {"-D", "-q", "ethermx"}, Output::dropped) == 0;
}

void load_module()
{
    if (::geteuid() != 0)
        throw cli::Failure("the kernel module is not loaded, and only root can do that: run as root");
    const int status = run_program("modprobe", {"ethermx"});
    if (status == 127)
        throw cli::Failure("no modprobe: apt-get install kmod");
    if (status != 0)
        throw cli::Failure(
            "modprobe ethermx failed: dmesg tells why; " + module_remedy() +
            " (dkms status shows builds). Without the module, the agent serves the same configuration: "
            "systemctl enable --now omxd, or omxd");
}

bool unload_module() { return run_program("modprobe", {"-q", "-r", "ethermx"}) == 0; }

std::optional<unsigned> boards_everywhere()
{
    std::istringstream file = read_text_file("/sys/class/misc/ethermx/boards");
    unsigned count = 0;
    if (file >> count)
        return count;
    return std::nullopt;
}

} // namespace emx
