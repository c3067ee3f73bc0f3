// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Layout, creation and mapping of the board file.
#include "driver/engine/board_file.hpp"

#include "driver/engine/board_spec.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint64_t align_up(uint64_t value) { return (value + 63) & ~uint64_t{63}; }

struct Layout {
    uint64_t records = align_up(sizeof(BoardFileHeader));
    uint64_t first_board = 0;
    uint64_t peers = 0;
    uint64_t claims = 0;
    uint64_t counters = 0;

    Layout(uint32_t boards, uint32_t peers_capacity)
    {
        first_board = align_up(records + uint64_t{boards} * sizeof(BoardRecord));
        peers = align_up(fw_peers_bytes(peers_capacity));
        claims = align_up(EMX_ENDPOINTS_MAX * sizeof(ClaimRecord));
        counters = (EMX_ENDPOINTS_MAX + 1) * sizeof(CounterBlock);
    }
    uint64_t stride() const { return peers + claims + counters; }
    uint64_t bytes(uint32_t boards) const { return first_board + boards * stride(); }
};

std::byte *map_shared(int fd, uint64_t bytes)
{
    void *base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? nullptr : static_cast<std::byte *>(base);
}

bool offsets_fit(BoardFile &file, const Layout &layout, uint32_t boards)
{
    for (uint32_t i = 0; i < boards; i++) {
        const BoardRecord &board = file.board(i);
        const uint64_t start = layout.first_board + i * layout.stride();
        if (board.peers_offset != start || board.claims_offset != start + layout.peers ||
            board.counters_offset != start + layout.peers + layout.claims)
            return false;
    }
    return true;
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

/// What readers of the file rely on, beside its layout.
bool boards_fit(BoardFile &file)
{
    fw_peers fresh;
    fw_peers_init(&fresh, file.header().peers_capacity, 0, 0);
    for (uint32_t i = 0; i < file.board_count(); i++) {
        const BoardRecord &board = file.board(i);
        const fw_peers &peers = *file.peers(i);
        if (!ends(board.interface, sizeof(board.interface)) || !ends(board.driver, sizeof(board.driver)) ||
            !sizes_fit(board.sizes) || board.x_frame > UINT16_MAX)
            return false;
        if (peers.capacity != fresh.capacity || peers.hash_mask != fresh.hash_mask ||
            peers.count > peers.capacity || peers.count < file.board_count())
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
    return Layout(header.board_count, header.peers_capacity).bytes(header.board_count) == bytes;
}

} // namespace

std::unique_ptr<BoardFile> BoardFile::create(uint32_t boards, uint32_t endpoint_max, uint32_t peers_capacity)
{
    assert(boards > 0 && boards <= boards_max && endpoint_max <= EMX_ENDPOINTS_MAX);
    const Layout layout(boards, peers_capacity);
    const uint64_t bytes = layout.bytes(boards);
    Fd fd(::memfd_create("ethermx-boards", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return nullptr;
    std::byte *base = map_shared(fd.get(), bytes);
    if (!base)
        return nullptr;
    std::unique_ptr<BoardFile> file(new BoardFile(std::move(fd), base, bytes, boards));
    file->header() = {
        board_file_magic, board_file_version, EMX_CNT_COUNT,  bytes,
        boards,           endpoint_max,       peers_capacity, static_cast<uint32_t>(::getpid())};
    for (uint32_t i = 0; i < boards; i++) {
        BoardRecord &board = file->board(i);
        board.peers_offset = layout.first_board + i * layout.stride();
        board.claims_offset = board.peers_offset + layout.peers;
        board.counters_offset = board.claims_offset + layout.claims;
        uint64_t key[2];
        if (::getrandom(key, sizeof(key), 0) != static_cast<ssize_t>(sizeof(key)))
            return nullptr;
        fw_peers_init(file->peers(i), peers_capacity, key[0], key[1]);
    }
    return file;
}

std::unique_ptr<BoardFile> BoardFile::map(Fd fd, std::string &error)
{
    const char *const other_build = "the running omxd is of another build of EtherMX: stop it, so that the "
                                    "next open starts the right one";
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof(BoardFileHeader))) {
        error = other_build;
        return nullptr;
    }
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
    if ((::fcntl(fd.get(), F_GET_SEALS) & needed) != needed) {
        error = "omxd handed out a board file that is not sealed: another program holds its name";
        return nullptr;
    }
    const auto bytes = static_cast<uint64_t>(status.st_size);
    std::byte *base = map_shared(fd.get(), bytes);
    if (!base) {
        error = std::string("mapping the board file: ") + std::strerror(errno);
        return nullptr;
    }
    const BoardFileHeader header = *reinterpret_cast<BoardFileHeader *>(base);
    std::unique_ptr<BoardFile> file(new BoardFile(std::move(fd), base, bytes, header.board_count));
    if (!header_fits(header, bytes) ||
        !offsets_fit(*file, Layout(header.board_count, header.peers_capacity), header.board_count) ||
        !boards_fit(*file)) {
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

BoardFile::~BoardFile() { ::munmap(base_, bytes_); }

BoardRecord &BoardFile::board(uint32_t i)
{
    assert(i < board_count_);
    return reinterpret_cast<BoardRecord *>(base_ + align_up(sizeof(BoardFileHeader)))[i];
}

fw_peers *BoardFile::peers(uint32_t i) { return reinterpret_cast<fw_peers *>(base_ + board(i).peers_offset); }

ClaimRecord &BoardFile::claim(uint32_t i, uint32_t endpoint)
{
    assert(endpoint < EMX_ENDPOINTS_MAX);
    return reinterpret_cast<ClaimRecord *>(base_ + board(i).claims_offset)[endpoint];
}

emx_counters &BoardFile::counters(uint32_t i, uint32_t slot)
{
    assert(slot <= EMX_ENDPOINTS_MAX);
    return reinterpret_cast<CounterBlock *>(base_ + board(i).counters_offset)[slot].counters;
}

int BoardFile::board_of(uint64_t mac)
{
    for (uint32_t i = 0; i < board_count_; i++)
        if (board(i).mac == mac)
            return static_cast<int>(i);
    return -1;
}

emx_counters BoardFile::sum_counters(uint32_t i)
{
    emx_counters sum{};
    for (uint32_t slot = 0; slot <= EMX_ENDPOINTS_MAX; slot++)
        for (int c = 0; c < EMX_CNT_COUNT; c++)
            sum.v[c] += std::atomic_ref(counters(i, slot).v[c]).load(std::memory_order_relaxed);
    return sum;
}

void BoardFile::clear_counters(uint32_t i)
{
    for (uint32_t slot = 0; slot <= EMX_ENDPOINTS_MAX; slot++)
        for (int c = 0; c < EMX_CNT_COUNT; c++)
            std::atomic_ref(counters(i, slot).v[c]).store(0, std::memory_order_relaxed);
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
