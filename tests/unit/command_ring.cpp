// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Commands by io_uring are not offered where nobody would execute them. That they are executed elsewhere
// is tested with the module.
#include "driver/kernel_client/command_ring.hpp"
#include "driver/base/fd.hpp"
#include "driver/kernel_client/command_path.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/eventfd.h>

using emx::CommandRing;
using emx::CommandWay;
using emx::Fd;

TEST_CASE("a file that takes no commands by io_uring, as of an older module, gets none")
{
    const Fd event(::eventfd(0, EFD_CLOEXEC));
    REQUIRE(event);
    CHECK_FALSE(CommandRing::open(event.get()));
}

TEST_CASE("a file that takes any command and looks at none gets none")
{
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    REQUIRE(null);
    CHECK_FALSE(CommandRing::open(null.get()));
}

TEST_CASE("no file gets no ring") { CHECK_FALSE(CommandRing::open(-1)); }

TEST_CASE("the ways have the names of EMX_COMMANDS")
{
    CHECK(emx::command_way("auto") == CommandWay::automatic);
    CHECK(emx::command_way("ioctl") == CommandWay::ioctl);
    CHECK(emx::command_way("uring") == CommandWay::uring);
}
