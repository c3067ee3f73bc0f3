// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The kernel module as a Device. See kernel_device.hpp.
#include "driver/kernel_client/kernel_device.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/kernel_client/kernel_port.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

BoardInfo describe_driver_board(const emx_dev_board &board)
{
    const fw_sizes sizes = sizes_of(board);
    BoardInfo info;
    info.number = board.number;
    info.nic_id = board.mac;
    info.interface = driver_text(board.interface, sizeof(board.interface));
    info.host_name = driver_text(board.name, sizeof(board.name));
    info.mtu = board.mtu;
    info.dialect = board.dialect_mtu == 0 ? 'W' : 'N';
    info.dialect_mtu = board.dialect_mtu;
    info.frag = sizes.frag;
    info.medium_max = sizes.medium_max;
    info.reply = sizes.reply;
    info.x_frame = board.x_frame;
    info.endpoint_max = board.endpoint_max;
    info.up = board.link == EMX_LINK_UP;
    InterfaceFacts facts;
    if (query_interface(info.interface, facts)) {
        info.driver = facts.driver;
        info.numa_node = facts.numa_node;
    }
    return info;
}

class KernelDevice final : public Device {
public:
    KernelDevice(DriverFile file, CommandWay way) : file_(std::move(file)), way_(way) {}

    uint64_t now_ns() override { return monotonic_ns(); }
    uint64_t random() override;
    std::vector<BoardInfo> boards() override;
    std::unique_ptr<Port> open(uint32_t board, uint32_t number, uint32_t session,
                               DeviceError &error) override;
    std::vector<PeerInfo> peers(uint32_t board) override;
    std::optional<uint64_t> nic_id_of(const std::string &host_name) override;
    std::optional<std::string> name_of(uint64_t nic_id) override;
    bool set_host_name(uint32_t board, const std::string &name, DeviceError &error) override;
    emx_counters counters(uint32_t board) override;
    bool clear_counters(uint32_t board, DeviceError &error) override;
    void yield() override { ::sched_yield(); }

private:
    const DriverFile file_;
    const CommandWay way_;
};

uint64_t KernelDevice::random() { return sys::random_bits(); }

std::vector<BoardInfo> KernelDevice::boards()
{
    std::vector<BoardInfo> all;
    for (const emx_dev_board &board : file_.boards())
        all.push_back(describe_driver_board(board));
    return all;
}

DeviceError claim_error(const emx_dev_claim &claim)
{
    const std::string what =
        "endpoint " + std::to_string(claim.number) + " of board " + std::to_string(claim.board);
    switch (errno) {
    case ENODEV:
        return {mx_board_unknown,
                "board " + std::to_string(claim.board) + " does not exist; omx_info lists them"};
    case ECHRNG:
        return {mx_bad_endpoint, what + " is out of range (the module's parameter endpoints raises it)"};
    case EBUSY: return {mx_busy, what + " is open already; omx_endpoint_info shows in which process"};
    default: return system_error(what);
    }
}

std::unique_ptr<Port> KernelDevice::open(uint32_t board, uint32_t number, uint32_t session,
                                         DeviceError &error)
{
    auto file = DriverFile::open(error);
    if (!file) {
        if (error.code == 0)
            error = {mx_no_driver, "the kernel module ethermx is gone: load it again"};
        return nullptr;
    }
    emx_dev_claim claim{};
    claim.board = board;
    claim.number = number;
    claim.session = session;
    claim.x_wanted = EMX_X_FRAG_MAX;
    if (!file->ask(EMX_IOC_CLAIM, &claim)) {
        error = claim_error(claim);
        return nullptr;
    }
    return KernelPort::make(std::move(*file), claim, way_, error);
}

std::vector<PeerInfo> KernelDevice::peers(uint32_t board)
{
    std::vector<PeerInfo> all;
    for (const emx_dev_peer &peer : file_.peers(board))
        all.push_back({peer.index, peer.mac, driver_text(peer.name, sizeof(peer.name)), peer.speaks});
    return all;
}

std::optional<uint64_t> KernelDevice::nic_id_of(const std::string &host_name)
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_NAME;
    if (host_name.empty() || host_name.size() >= sizeof(request.name))
        return std::nullopt;
    host_name.copy(request.name, sizeof(request.name) - 1);
    for (const emx_dev_board &board : file_.boards()) {
        request.board = board.number;
        if (const auto peer = file_.peer(request))
            return peer->mac;
        if (errno != EINVAL)
            continue;
        for (const PeerInfo &peer : peers(board.number)) // an older driver
            if (peer.name == host_name)
                return peer.nic_id;
    }
    return std::nullopt;
}

std::optional<std::string> KernelDevice::name_of(uint64_t nic_id)
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_MAC;
    request.mac = nic_id;
    for (const emx_dev_board &board : file_.boards()) {
        request.board = board.number;
        const auto peer = file_.peer(request);
        if (peer && peer->name[0])
            return driver_text(peer->name, sizeof(peer->name));
    }
    return std::nullopt;
}

bool KernelDevice::set_host_name(uint32_t board, const std::string &name, DeviceError &error)
{
    emx_dev_names request{};
    request.op = EMX_DEV_NAME_BOARD;
    request.board = board;
    if (name.size() < sizeof(request.name)) {
        std::memcpy(request.name, name.data(), name.size());
        if (file_.ask(EMX_IOC_NAMES, &request))
            return true;
    } else {
        errno = EINVAL;
    }
    if (errno == EPERM)
        error = {mx_no_perm,
                 "only root, or a process with CAP_NET_ADMIN, may name a board of the kernel module"};
    else if (errno == ENODEV)
        error = {mx_board_unknown, "board " + std::to_string(board) + " does not exist"};
    else
        error = {mx_no_resources, "a board name has 1 to 79 printable characters without blanks"};
    return false;
}

emx_counters KernelDevice::counters(uint32_t board)
{
    emx_counters sum{};
    emx_dev_counters request{};
    request.board = board;
    request.address = reinterpret_cast<uint64_t>(sum.v);
    request.count = EMX_CNT_COUNT;
    file_.ask(EMX_IOC_COUNTERS, &request);
    return sum;
}

bool KernelDevice::clear_counters(uint32_t board, DeviceError &error)
{
    emx_dev_counters request{};
    request.board = board;
    request.clear = 1;
    if (file_.ask(EMX_IOC_COUNTERS, &request))
        return true;
    if (errno == EPERM)
        error = {mx_no_perm,
                 "only root, or a process with CAP_NET_ADMIN, may clear counters of the kernel module"};
    else
        error = {mx_board_unknown, "board " + std::to_string(board) + " does not exist"};
    return false;
}

/// True if the module's boards are those that the user asks for, in any order.
bool are_those(const std::vector<emx_dev_board> &boards, const std::string &wanted, std::string &running)
{
    std::vector<BoardSpec> specs;
    std::string ignored; // the engine words it
    if (!parse_board_spec(wanted, specs, ignored))
        return false;
    std::size_t found = 0;
    for (const emx_dev_board &board : boards) {
        const std::string interface = driver_text(board.interface, sizeof(board.interface));
        const fw_sizes sizes = sizes_of(board);
        running += running.empty() ? "" : ",";
        running += describe_board(interface, sizes);
        for (const BoardSpec &spec : specs)
            found += spec_matches(spec, interface, sizes);
    }
    return specs.empty() || (found == specs.size() && found == boards.size());
}

} // namespace

std::unique_ptr<Device> make_kernel_device(const std::string &boards, bool required, DeviceError &error,
                                           CommandWay way)
{
    auto file = DriverFile::open(error);
    if (!file) {
        if (required && error.code == 0)
            error = {
                mx_no_driver,
                "the kernel module is not loaded: modprobe ethermx, or unset EMX_DEVICE to use the engine"};
        return nullptr;
    }
    const auto all = file->boards();
    if (all.empty() && !required)
        return nullptr;
    if (all.empty()) {
        error = {mx_no_dev, "the kernel module has no board in this network namespace: omx_attach INTERFACE"};
        return nullptr;
    }
    std::string running;
    if (!are_those(all, boards, running)) {
        if (required)
            error = {mx_no_dev, "EMX_BOARDS asks for " + boards + ", but the kernel module has " + running +
                                    ": unset EMX_BOARDS to use that, or attach and detach (omx_attach)"};
        return nullptr;
    }
    if (!file->fits(error))
        return nullptr;
    return std::make_unique<KernelDevice>(std::move(*file), way);
}

} // namespace emx
