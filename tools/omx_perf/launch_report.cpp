// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Finding and running the script of the report.
#include "launch_report.hpp"

#include "../cli.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace emx::perf {

namespace fs = std::filesystem;

void launch_report(const std::string &folder, bool quick)
{
    std::error_code error;
    const fs::path tools = fs::read_symlink("/proc/self/exe", error).parent_path();
    // A build has a script of that name beside its tools; an installation has it among its data.
    fs::path script = tools / "omx_perf_report";
    if (!fs::exists(script, error))
        script = EMX_REPORT_INSTALLED;
    if (!fs::exists(script, error))
        throw cli::Failure("the report's script is not there: install it as " + script.string());
    if (setenv("EMX_REPORT_TOOLS", tools.c_str(), 1) != 0)
        throw cli::Failure("no memory");
    execl("/bin/bash", "bash", script.c_str(), quick ? "-q" : "--", folder.c_str(), nullptr);
    throw cli::Failure(std::string("the report needs /bin/bash: ") + std::strerror(errno));
}

} // namespace emx::perf
