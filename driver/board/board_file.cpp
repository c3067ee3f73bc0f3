// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Layout, creation and mapping of the board file.
#include "driver/board/board_file.hpp"

#include "driver/base/system_calls.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint64_t align_up(uint64_t value) { return (value + 63) & ~uint64_t{63}; }

std::byte *map_shared(int fd, uint64_t bytes, int protection)
{
    void *base = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? nullptr : static_cast<std::byte *>(base);
}

/// The same file opened anew; for writing only its owner can, and root.
Fd open_again(int fd, int flags)
{
    return Fd(sys::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC));
}

bool ends(const char *text, std::size_t size) { return ::strnlen(text, size) < size; }

/// The sizes of a dialect follow from its name and its configured size.
bool sizes_fit(const fw_sizes &sizes)
{
    fw_sizes right{};
    if (sizes.dialect == FW_DIALECT_N ? fw_sizes_n(&right, sizes.mtu) != 0 : sizes.dialect != FW_DIALECT_W)
        return false;
    if (sizes.dialect == FW_DIALECT_W)
        fw_sizes_w(&right);
    return same_sizes(sizes, right) && sizes.frag == right.frag && sizes.frags_max == right.frags_max &&
           sizes.frag_accept == right.frag_accept && sizes.medium_max == right.medium_max &&
           sizes.reply == right.reply && sizes.block == right.block && sizes.payload_min == right.payload_min;
}

/// Checks what readers of the file rely on, beside its layout.
bool boards_fit(BoardFile &file)
{
    for (uint32_t i = 0; i < file.board_count(); i++) {
        const BoardRecord &board = file.board(i);
        if (!ends(board.interface, sizeof(board.interface)) || !ends(board.driver, sizeof(board.driver)) ||
            !ends(board.place, sizeof(board.place)) || board.udp_port > UINT16_MAX ||
            !sizes_fit(board.sizes) || board.x_frame > UINT16_MAX)
            return false;
        if (!fw_peers_fit(file.peers(i), file.header().peers_capacity) ||
            file.peers(i)->count < file.board_count())
            return false;
    }
    return true;
}

bool header_fits(const BoardFileHeader &header, uint64_t bytes)
{
    if (header.magic != board_file_magic || header.version != board_file_version ||
        header.counter_count != EMX_CNT_COUNT)
        return false;
    if (header.board_count == 0 || header.board_count > boards_max || header.bytes != bytes)
        return false;
    if (header.endpoint_max == 0 || header.endpoint_max > EMX_ENDPOINTS_MAX)
        return false;
    return BoardLayout(header.board_count, header.peers_capacity).bytes() == bytes;
}

} // namespace

BoardLayout::BoardLayout(uint32_t boards, uint32_t peers_capacity) : boards_(boards)
{
    first_board_ = align_up(record(boards));
    claims_ = align_up(fw_peers_bytes(peers_capacity));
    counters_ = claims_ + align_up(EMX_ENDPOINTS_MAX * sizeof(ClaimRecord));
    addresses_ = counters_ + sizeof(CounterBlocks);
    stride_ = addresses_ + align_up(uint64_t{peers_capacity} * sizeof(PeerAddress));
}

uint64_t BoardLayout::record(uint32_t i) const
{
    return align_up(sizeof(BoardFileHeader)) + uint64_t{i} * sizeof(BoardRecord);
}

std::unique_ptr<BoardFile> BoardFile::create(uint32_t boards, uint32_t endpoint_max, uint32_t peers_capacity)
{
    assert(boards > 0 && boards <= boards_max && endpoint_max <= EMX_ENDPOINTS_MAX);
    const BoardLayout layout(boards, peers_capacity);
    const uint64_t bytes = layout.bytes();
    const Fd writable(::memfd_create("ethermx-boards", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!writable || ::fchmod(writable.get(), S_IRUSR | S_IWUSR) != 0 ||
        !set_file_size(writable.get(), bytes, false) ||
        ::fcntl(writable.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return nullptr;
    Fd fd = open_again(writable.get(), O_RDONLY);
    std::byte *base = fd ? map_shared(writable.get(), bytes, PROT_READ | PROT_WRITE) : nullptr;
    if (!base)
        return nullptr;
    std::unique_ptr<BoardFile> file(new BoardFile(std::move(fd), base, layout));
    file->header() = {
        board_file_magic, board_file_version, EMX_CNT_COUNT,  bytes,
        boards,           endpoint_max,       peers_capacity, static_cast<uint32_t>(::getpid())};
    for (uint32_t i = 0; i < boards; i++) {
        const uint64_t low = sys::random_bits(), high = sys::random_bits();
        fw_peers_init(file->peers(i), peers_capacity, low, high);
    }
    return file;
}

std::unique_ptr<BoardFile> BoardFile::map(Fd fd, DeviceError &error)
{
    return map(std::move(fd), PROT_READ, error);
}

bool BoardFile::is_own(int fd)
{
    struct stat status {};
    return ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::unique_ptr<BoardFile> BoardFile::adopt(Fd fd, std::string &why)
{
    if (!is_own(fd.get())) {
        why = "omxd was restarted by another user: close the endpoint and open it again";
        return nullptr;
    }
    DeviceError error;
    auto file = map(std::move(fd), PROT_READ | PROT_WRITE, error);
    why = error.text;
    for (uint32_t i = 0; file && i < file->board_count(); i++)
        fw_peers_mend(file->peers(i));
    return file;
}

/// Memory that is mapped for writing comes by a descriptor that does not write.
std::unique_ptr<BoardFile> BoardFile::map(Fd fd, int protection, DeviceError &error)
{
    const DeviceError other_build = {mx_no_driver,
                                     "the running omxd is of another build of EtherMX: stop it, so that the "
                                     "next open starts the right one"};
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof(BoardFileHeader))) {
        error = other_build;
        return nullptr;
    }
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
    if ((::fcntl(fd.get(), F_GET_SEALS) & needed) != needed) {
        error = {mx_no_driver,
                 "omxd handed out a board file that is not sealed: another program holds its name"};
        return nullptr;
    }
    const auto bytes = static_cast<uint64_t>(status.st_size);
    const Fd writable = protection & PROT_WRITE ? open_again(fd.get(), O_RDWR) : Fd();
    std::byte *base = map_shared(writable ? writable.get() : fd.get(), bytes, protection);
    if (!base) {
        error = system_error("mapping the board file");
        return nullptr;
    }
    const BoardFileHeader header = *reinterpret_cast<BoardFileHeader *>(base);
    if (!header_fits(header, bytes)) {
        ::munmap(base, bytes);
        error = other_build;
        return nullptr;
    }
    std::unique_ptr<BoardFile> file(
        new BoardFile(std::move(fd), base, BoardLayout(header.board_count, header.peers_capacity)));
    if (!boards_fit(*file)) {
        error = other_build;
        return nullptr;
    }
    return file;
}

bool BoardFile::same(int fd) const
{
    struct stat ours {
    }, theirs{};
    return ::fstat(fd_.get(), &ours) == 0 && ::fstat(fd, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

BoardFile::~BoardFile() { ::munmap(base_, layout_.bytes()); }

BoardRecord &BoardFile::board(uint32_t i)
{
    assert(i < board_count());
    return at<BoardRecord>(layout_.record(i));
}

fw_peers *BoardFile::peers(uint32_t i) { return &at<fw_peers>(layout_.peers(i)); }

ClaimRecord &BoardFile::claim(uint32_t i, uint32_t endpoint)
{
    assert(endpoint < EMX_ENDPOINTS_MAX);
    return at<ClaimRecord>(layout_.claims(i) + endpoint * sizeof(ClaimRecord));
}

CounterBlocks &BoardFile::counters(uint32_t i) { return at<CounterBlocks>(layout_.counters(i)); }

PeerAddress &BoardFile::address(uint32_t i, uint32_t peer)
{
    assert(peer < peers(i)->capacity);
    return at<PeerAddress>(layout_.addresses(i) + peer * sizeof(PeerAddress));
}

int BoardFile::board_of(uint64_t mac)
{
    for (uint32_t i = 0; i < board_count(); i++)
        if (board(i).mac == mac)
            return static_cast<int>(i);
    return -1;
}

emx_counters BoardFile::told_counters(uint32_t i)
{
    emx_counters sum{};
    for (int c = 0; c < EMX_CNT_COUNT; c++)
        sum.v[c] = std::atomic_ref(counters(i).told.v[c]).load(std::memory_order_relaxed);
    return sum;
}

std::string place_of(const BoardRecord &board)
{
    const char *const text = board.udp_port != 0 ? board.place : board.interface;
    const std::size_t size = board.udp_port != 0 ? sizeof(board.place) : sizeof(board.interface);
    return std::string(text, ::strnlen(text, size));
}

LinkState read_link(BoardRecord &board)
{
    LinkState link{};
    link.serial = std::atomic_ref(board.link_serial).load(std::memory_order_acquire);
    link.state = std::atomic_ref(board.link_state).load(std::memory_order_acquire);
    link.life = std::atomic_ref(board.lives).load(std::memory_order_relaxed);
    return link;
}

void write_link(BoardRecord &board, uint32_t state)
{
    std::atomic_ref(board.link_state).store(state, std::memory_order_release);
    std::atomic_ref(board.link_serial).fetch_add(1, std::memory_order_release);
}

} // namespace emx
