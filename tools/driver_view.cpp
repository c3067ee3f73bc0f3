// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Boards of the kernel module.
#include "board_view.hpp"
#include "cli.hpp"

#include "driver/base/printable.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/kernel_client/driver_file.hpp"
#include "driver/kernel_client/kernel_device.hpp"

#include <cerrno>
#include <cstring>

namespace emx {

namespace {

class DriverView final : public BoardView {
public:
    DriverView(DriverFile file, std::unique_ptr<Device> device)
        : file_(std::move(file)), device_(std::move(device))
    {
    }

    const char *device() const override { return "kernel"; }
    std::string firmware() override { return "kernel module ethermx"; }
    std::vector<BoardFacts> boards() override;
    std::vector<PeerView> peers(uint32_t board) override;
    std::vector<HolderView> holders(uint32_t board) override;
    emx_counters counters(uint32_t board) override { return device_->counters(board); }
    void clear_counters(uint32_t board) override;
    void set_name(uint32_t board, const std::string &name) override;
    void forget_names() override { tell(EMX_DEV_NAMES_FORGET, 0, {}); }
    void clear_peers() override { tell(EMX_DEV_PEERS_CLEAR, 0, {}); }
    void append_peer(uint64_t mac, const std::string &name) override
    {
        tell(EMX_DEV_PEERS_APPEND, mac, name);
    }
    void pin_peer(uint64_t mac, uint16_t speaks) override { tell(EMX_DEV_PEER_SPEAKS, mac, {}, speaks); }
    void complete_peers() override { tell(EMX_DEV_PEERS_COMPLETE, 0, {}); }

private:
    void tell(emx_dev_names_op op, uint64_t mac, const std::string &name, uint32_t board = 0);

    const DriverFile file_;
    const std::unique_ptr<Device> device_;
};

std::vector<BoardFacts> DriverView::boards()
{
    const auto raw = file_.boards();
    std::vector<BoardFacts> all;
    for (const BoardInfo &info : device_->boards()) {
        BoardFacts facts{};
        facts.number = info.number;
        facts.device = info.interface;
        facts.interface = printable(info.interface);
        facts.driver = printable(info.driver);
        facts.name = printable(info.host_name);
        facts.mac = info.nic_id;
        facts.mtu = info.mtu;
        facts.numa_node = info.numa_node;
        facts.endpoint_max = info.endpoint_max;
        if (info.dialect == 'W')
            fw_sizes_w(&facts.sizes);
        else
            fw_sizes_n(&facts.sizes, info.dialect_mtu);
        for (const emx_dev_board &board : raw) {
            if (board.number != info.number)
                continue;
            facts.link = board.link;
            facts.peers_max = board.peers_max;
            facts.peers_open = board.open != 0;
        }
        all.push_back(facts);
    }
    return all;
}

std::vector<PeerView> DriverView::peers(uint32_t board)
{
    std::vector<PeerView> all;
    for (const PeerInfo &peer : device_->peers(board))
        all.push_back({peer.index, peer.nic_id, printable(peer.name), peer.speaks});
    return all;
}

std::vector<HolderView> DriverView::holders(uint32_t board)
{
    std::vector<HolderView> all;
    emx_dev_endpoint request{};
    request.board = board;
    for (; file_.ask(EMX_IOC_ENDPOINT, &request); request.number++)
        all.push_back({request.number, request.pid, request.uid, request.session,
                       printable(driver_text(request.command, sizeof(request.command)))});
    return all;
}

void DriverView::clear_counters(uint32_t board)
{
    DeviceError error;
    if (!device_->clear_counters(board, error))
        throw cli::Failure(error.text);
}

void DriverView::set_name(uint32_t board, const std::string &name)
{
    DeviceError error;
    if (!device_->set_host_name(board, name, error))
        throw cli::Failure(error.text);
}

/// Explains why the module refuses a dialect.
std::string dialect_trouble(uint16_t speaks)
{
    fw_sizes sizes{};
    fw_sizes_spoken(&sizes, speaks);
    switch (errno) {
    case EMSGSIZE:
        return "dialect " + describe_spoken(speaks) + " needs an MTU of " +
               std::to_string(sizes.payload_min) +
               ", which no board here has: raise it, or take the dialect off";
    case EBUSY:
        return "endpoints are open, and dialects of peers change only while none is: end their programs "
               "first "
               "(omx_endpoint_info -a shows them)";
    case EADDRINUSE:
        return "this is a board of this host, which speaks another dialect: configure it for " +
               describe_spoken(speaks) + ", or take the dialect off";
    case EINVAL:
        return "the kernel module knows no dialects of peers: it is older; load the one of this release";
    default: return {};
    }
}

void DriverView::tell(emx_dev_names_op op, uint64_t mac, const std::string &name, uint32_t board)
{
    emx_dev_names request{};
    request.op = op;
    request.board = board;
    request.mac = mac;
    name.copy(request.name, sizeof(request.name) - 1);
    if (file_.ask(EMX_IOC_NAMES, &request))
        return;
    if (op == EMX_DEV_PEER_SPEAKS)
        if (const std::string text = dialect_trouble(static_cast<uint16_t>(board)); !text.empty())
            throw cli::Failure(text);
    switch (errno) {
    case EBUSY: throw cli::Failure(dialect_trouble(FW_SPEAKS_W));
    case EPERM: throw cli::Failure("the kernel module tells its peers to root only");
    case EINVAL: throw cli::Failure("a board name has 1 to 79 printable characters without blanks");
    case ENOSPC: throw cli::Failure("not a unicast address, or the peer table is full");
    default: throw cli::Failure(std::string("the kernel module refuses: ") + std::strerror(errno));
    }
}

} // namespace

std::unique_ptr<BoardView> open_driver_view(const std::string &boards, bool required)
{
    DeviceError error;
    auto device = make_kernel_device(boards, required, error);
    auto file = device ? DriverFile::open(error) : std::nullopt;
    if (error.code != 0)
        throw cli::Failure(error.text);
    if (!file)
        return nullptr;
    return std::make_unique<DriverView>(std::move(*file), std::move(device));
}

} // namespace emx
