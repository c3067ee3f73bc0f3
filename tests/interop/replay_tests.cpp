// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The captures of a real MXoE peer, played against our stack in both places: on a simulated host, and,
// linked with another link.hpp, on the engine and on the kernel module.
#include "replay.hpp"

#include <catch2/catch.hpp>

#include <mx_extensions.h>
#include <myriexpress.h>

#include <emx/wire.h>

using namespace emx::interop;

namespace {

constexpr uint32_t receiver_endpoint = 3, sender_endpoint = 5, receiver_key = 0xabcd;
constexpr uint32_t patience = 20000; // ms

/// Byte k of every message of the captures.
std::vector<uint8_t> content(uint32_t length)
{
    std::vector<uint8_t> bytes(length);
    for (uint32_t k = 0; k < length; k++)
        bytes[k] = static_cast<uint8_t>(7 * k + (k >> 8) + 0x30);
    return bytes;
}

void await_end(Replay &replay)
{
    constexpr int time_limit = 20000; // ms
    for (int i = 0; i < time_limit; i++) {
        if (replay.finished())
            return;
        replay.pass_time(ms);
    }
    replay.complain("the exchange stops before its end");
}

/// Behaviour of the capture's program on host a.
struct Receiver {
    bool connects_back = false; ///< after the first message
    uint64_t close_at = 0; ///< nanoseconds of the exchange; 0: when it is over
    bool expects_messages = true;

    void operator()(Replay &replay) const
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        mx_endpoint_t ep;
        if (mx_init() || mx_open_endpoint(0, receiver_endpoint, receiver_key, nullptr, 0, &ep))
            return replay.complain("cannot open its endpoint");
        replay.begin();
        size_t count = close_at ? 1 : expects_messages ? replay.messages().size() : 0;
        for (size_t n = 0; n < count; n++) {
            receive(replay, ep, replay.messages()[n]);
            if (n == 0 && connects_back)
                connect_back(replay, ep);
        }
        if (close_at) {
            replay.pass_until(close_at);
            mx_close_endpoint(ep);
        }
        await_end(replay);
        replay.linger();
        if (!close_at)
            mx_close_endpoint(ep);
        replay.linger();
        mx_finalize();
    }

    static void receive(Replay &replay, mx_endpoint_t ep, const CapturedMessage &m)
    {
        std::vector<uint8_t> buffer(m.length + 1);
        mx_segment_t segment{buffer.data(), static_cast<uint32_t>(buffer.size())};
        mx_request_t request;
        mx_status_t status;
        uint32_t done = 0;
        mx_irecv(ep, &segment, 1, m.match, MX_MATCH_MASK_NONE, nullptr, &request);
        mx_wait(ep, &request, patience, &status, &done);
        if (!done)
            return replay.complain("a message does not arrive");
        buffer.resize(m.length);
        if (status.code || status.msg_length != m.length || status.xfer_length != m.length ||
            status.match_info != m.match || buffer != content(m.length))
            replay.complain("a message arrives altered");
    }

    static void connect_back(Replay &replay, mx_endpoint_t ep)
    {
        mx_endpoint_addr_t address;
        if (mx_connect(ep, replay.other_mac(), sender_endpoint, receiver_key, patience, &address))
            replay.complain("cannot connect back");
    }
};

/// Behaviour of the capture's program on host b.
struct Sender {
    mx_return_t connects = MX_SUCCESS; ///< expected of mx_connect
    size_t delivered = ~size_t{0}; ///< messages that arrive; later ones are refused

    void operator()(Replay &replay) const
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        mx_endpoint_t ep;
        mx_endpoint_addr_t address;
        if (mx_init() || mx_open_endpoint(0, sender_endpoint, receiver_key, nullptr, 0, &ep))
            return replay.complain("cannot open its endpoint");
        replay.begin();
        mx_return_t code =
            mx_connect(ep, replay.other_mac(), replay.target(), replay.key(), patience, &address);
        if (code != connects)
            replay.complain(std::string("connect: ") + mx_strerror(code));
        if (!code)
            for (auto &m : replay.messages()) {
                replay.pass_until(m.time);
                send(replay, ep, address, m);
            }
        await_end(replay);
        replay.linger();
        mx_close_endpoint(ep);
        replay.linger();
        mx_finalize();
    }

    void send(Replay &replay, mx_endpoint_t ep, mx_endpoint_addr_t address, const CapturedMessage &m) const
    {
        std::vector<uint8_t> bytes = content(m.length);
        mx_segment_t segment{bytes.data(), m.length};
        mx_request_t request;
        mx_status_t status;
        uint32_t done = 0;
        mx_isend(ep, &segment, 1, address, m.match, nullptr, &request);
        mx_wait(ep, &request, patience, &status, &done);
        if (!done)
            replay.complain("a send does not end");
        else if (static_cast<size_t>(&m - replay.messages().data()) > delivered)
            refused(replay, status);
        else if (status.code != MX_STATUS_SUCCESS || status.xfer_length != m.length)
            replay.complain(std::string("a send ends badly: ") + mx_strstatus(status.code));
    }

    /// The first message that is refused was buffered; later ones end with the reason.
    static void refused(Replay &replay, const mx_status_t &status)
    {
        if (status.code != MX_STATUS_ENDPOINT_CLOSED)
            replay.complain(std::string("a refused send ends with ") + mx_strstatus(status.code));
    }
};

/// Capture 01 needs no endpoint. In the end each host knows the other's name.
struct Board {
    void operator()(Replay &replay) const
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        if (mx_init())
            return replay.complain("cannot initialise the library");
        replay.begin();
        await_end(replay);
        replay.linger();
        char name[MX_MAX_HOSTNAME_LEN] = "";
        mx_nic_id_to_hostname(replay.other_mac(), name);
        if (name != replay.other_name())
            replay.complain(std::string("the other host is called \"") + name + "\"");
        mx_finalize();
    }
};

std::string path(const std::string &name) { return EMX_PCAP_FOLDER "/" + name + ".pcap"; }

/// Plays one capture and requires that nothing differs but what must.
template <typename Application>
void play(const std::string &name, Role role, const Application &application, const std::set<Design> &wanted)
{
    Replay replay(path(name), role);
    replay.run(application);
    std::string all;
    for (auto &d : replay.differences())
        all += "\n  " + d;
    for (Design d : replay.designs())
        // Those depend on how slow the captured host was, and on whose connect was captured; when acks go
        // out, in real time, on how slow ours is.
        if (!wanted.count(d) && d != Design::repeats && d != Design::offer && d != Design::question &&
            !(d == Design::acks && replay.has_agent()))
            all += "\n  unexpected here: " + design_text(d);
    for (Design d : wanted)
        if (d != Design::repeats && !replay.designs().count(d))
            all += "\n  no longer seen: " + design_text(d);
    INFO(name << (role == Role::receiver ? ", in the place of host a" : ", in the place of host b") << all);
    CHECK(all.empty());
    CHECK(replay.compared() > 0);
}

const char *const of_each_class[] = {"03-tiny-16", "04-small-128", "05-medium-1frag-4096",
                                     "06-medium-multifrag-32768"};
const char *const at_the_edges[] = {"03-tiny-0",   "03-tiny-1",           "03-tiny-32",
                                    "04-small-33", "05-medium-1frag-129", "06-medium-multifrag-4097"};

void play_in_both_places(const char *name)
{
    play(name, Role::receiver, Receiver{}, {Design::own_values, Design::connect_back, Design::counter_start});
    play(name, Role::sender, Sender{}, {Design::own_values});
}

} // namespace

TEST_CASE("replay__connect")
{
    play("02-connect-and-reply", Role::receiver, Receiver{}, {Design::own_values, Design::connect_back});
    play("02-connect-and-reply", Role::sender, Sender{}, {Design::own_values});
}

TEST_CASE("replay__eager_messages_of_every_class")
{
    for (const char *name : of_each_class)
        play_in_both_places(name);
}

TEST_CASE("replay__shortest_and_longest_eager_messages")
{
    for (const char *name : at_the_edges)
        play_in_both_places(name);
}

TEST_CASE("replay__many_tiny_messages")
{
    const char *name = "10-truc-acks-20-tiny-one-way";
    play(name, Role::receiver, Receiver{},
         {Design::own_values, Design::connect_back, Design::counter_start, Design::acks});
    play(name, Role::sender, Sender{}, {Design::own_values});
}

TEST_CASE("replay__names")
{
    const char *name = "01-discovery-omxoed-and-host-query";
    std::set<Design> wanted = {Design::tag, Design::reply_length};
    if (Replay(path(name), Role::receiver).has_agent())
        wanted.insert({Design::own_values, Design::beacons});
    play(name, Role::receiver, Board{}, wanted);
    if (wanted.count(Design::beacons))
        wanted.insert(Design::strangers);
    play(name, Role::sender, Board{}, wanted);
}

TEST_CASE("replay__refused_connects")
{
    for (const char *name :
         {"11-nack-lib-connect-bad-endpoint-index-40", "11-nack-lib-connect-endpoint-closed"})
        play(name, Role::receiver, Receiver{}, {});
    play("11-nack-lib-connect-bad-endpoint-index-40", Role::sender, Sender{MX_BAD_ENDPOINT_ID},
         {Design::own_values});
    play("11-nack-lib-connect-endpoint-closed", Role::sender, Sender{MX_CONNECTION_FAILED},
         {Design::own_values});
    play("12-connect-wrong-key", Role::receiver, Receiver{}, {Design::own_values});
    play("12-connect-wrong-key", Role::sender, Sender{MX_BAD_CONNECTION_KEY}, {Design::own_values});
}

TEST_CASE("replay__large_messages_and_a_late_connect")
{
    play("13-large-40000-with-connect-back", Role::receiver, Receiver{true},
         {Design::own_values, Design::connect_back});
    play("13-large-40000-with-connect-back", Role::sender, Sender{},
         {Design::own_values, Design::counter_start, Design::tag, Design::no_renumbering, Design::acks});
}

TEST_CASE("replay__message_to_a_closed_endpoint")
{
    const char *name = "15-send-after-peer-closed-nack-endpt-closed";
    play(name, Role::receiver, Receiver{false, 4 * sec},
         {Design::own_values, Design::connect_back, Design::counter_start});
    play(name, Role::sender, Sender{MX_SUCCESS, 1},
         {Design::own_values, Design::closed_known, Design::inquiry});
}
