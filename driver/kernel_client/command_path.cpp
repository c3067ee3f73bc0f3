// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ways for commands. See command_path.hpp.
#include "driver/kernel_client/command_path.hpp"

namespace emx {
namespace {

/// Others of its message follow, and then a flush().
bool is_fragment(const emx_msg &msg)
{
    return (msg.type == EMX_MEDIUM || msg.type == EMX_X_MEDIUM) && msg.data_len < msg.msg_len;
}

} // namespace

CommandWay command_way(std::string_view name)
{
    if (name == "uring")
        return CommandWay::uring;
    return name == "ioctl" ? CommandWay::ioctl : CommandWay::automatic;
}

CommandPath::CommandPath(const DriverFile &file, CommandWay way)
    : file_(file), keeps_(way != CommandWay::ioctl),
      ring_(way == CommandWay::uring ? CommandRing::open(file.fd()) : nullptr)
{
}

bool CommandPath::send(const emx_msg &msg, std::byte *payload)
{
    emx_dev_command command{};
    command.op = EMX_DEV_SEND;
    command.msg = msg;
    command.msg.data = reinterpret_cast<uint64_t>(payload);
    if (keeps_ && is_fragment(msg)) {
        kept_.push_back(command);
        return true;
    }
    flush();
    if (!ring_) [[likely]]
        return give(command);
    kept_.push_back(command);
    send_all();
    const bool sent = kept_.front().result == 0;
    kept_.clear();
    return sent;
}

void CommandPath::flush()
{
    if (kept_.empty())
        return;
    send_all();
    kept_.clear();
}

void CommandPath::send_all()
{
    if (ring_ && ring_->execute(kept_))
        return;
    // Commands that io_uring has sent already go out twice, which receivers expect of a network.
    ring_.reset();
    send_list();
}

void CommandPath::send_list()
{
    emx_dev_submit submit{};
    submit.commands = reinterpret_cast<uint64_t>(kept_.data());
    submit.count = static_cast<uint32_t>(kept_.size());
    file_.ask(EMX_IOC_SUBMIT, &submit);
}

} // namespace emx
