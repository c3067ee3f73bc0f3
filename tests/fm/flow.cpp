// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Flow control: credits, limits of extraction, handlers under way at once, nodes that die.
#include "job.hpp"

#include <algorithm>

namespace emx::fmtest {
namespace {

constexpr uint32_t note_id = 1, long_id = 2, other_id = 3;

void note(const std::string &what) { me().seen.push_back(what); }

/// Notes its sender, and drops the bytes.
int note_sender(FM_stream *, unsigned sender)
{
    me().count++;
    note("from " + std::to_string(sender));
    return FM_CONTINUE;
}

int count_only(FM_stream *, unsigned)
{
    me().count++;
    return FM_CONTINUE;
}

/// Receives two halves of a message of 12,000 bytes.
int halves(FM_stream *stream, unsigned)
{
    char bytes[6000];
    note("start");
    const ULONG first = FM_receive(bytes, stream, sizeof bytes);
    note("half " + std::to_string(first));
    const ULONG second = FM_receive(bytes, stream, sizeof bytes);
    note("end " + std::to_string(second) + " error " + std::to_string(FM_errno));
    me().count++;
    return FM_CONTINUE;
}

void flow_handlers(Me &)
{
    FM_register_handler(note_id, note_sender);
    FM_register_handler(long_id, halves);
    FM_register_handler(other_id, count_only);
}

/// While others are in the middle of their messages.
void die_soon(Me &m)
{
    m.sleep(200 * sim::ms);
    m.process->kill();
}

using Seen = std::vector<std::string>;
const std::vector<char> some(200000, 'x');

} // namespace

TEST_CASE("a receiver that does not extract stops its sender; memory is bounded, and nothing is lost")
{
    for (const bool rough : {false, true}) {
        CAPTURE(rough);
        constexpr uint64_t messages = 1000;
        uint64_t sent = 0, sent_while_stopped = 0, held = 0, again = 0;
        Job job(
            rough ? Plan::rough(3) : Plan{},
            [&](Me &m) {
                if (m.id == 0) {
                    for (; sent < messages; sent++)
                        CHECK(FM_send(1, other_id, some.data(), 100) == 0);
                    return;
                }
                m.sleep(500 * sim::ms);
                FM_extract(0);
                sent_while_stopped = sent;
                held = m.node->held();
                m.sleep(200 * sim::ms);
                again = sent;
                m.until([&] { return m.count == messages; });
            },
            flow_handlers);
        job.run();
        CHECK(sent_while_stopped == job.members[0]->node->window());
        CHECK(again == sent_while_stopped);
        CHECK(held == sent_while_stopped);
        CHECK(job.members[1]->count == messages);
    }
}

TEST_CASE("long messages stop at a receiver that does not extract, within its memory; nothing is lost")
{
    // Below the eager limit of MX, in packets; above it, as copies first, then in packets.
    for (const uint32_t length : {5000u, 32768u, 50000u, 130000u}) {
        CAPTURE(length);
        constexpr uint64_t messages = 50;
        uint64_t sent = 0, sent_while_stopped = 0, held = 0;
        Job job(
            Plan{},
            [&](Me &m) {
                if (m.id == 0) {
                    for (; sent < messages; sent++) {
                        if (sent % 2) {
                            CHECK(FM_send(1, other_id, some.data(), length) == 0);
                            continue;
                        }
                        FM_stream *stream = begin(1, length, other_id);
                        FM_send_piece(stream, some.data(), length);
                        FM_end_message(stream);
                    }
                    return;
                }
                m.sleep(200 * sim::ms);
                FM_extract(0);
                sent_while_stopped = sent;
                held = m.node->held();
                m.until([&] { return m.count == messages; });
            },
            flow_handlers);
        job.run();
        CHECK(sent_while_stopped > 0);
        CHECK(sent_while_stopped < messages);
        CHECK(held <= job.members[0]->node->window());
        CHECK(job.members[1]->count == messages);
    }
}

TEST_CASE("few receives are posted while little comes, many in a burst, few again when it is over")
{
    uint32_t first = 0, burst = 0, later = 0;
    Job job(
        Plan{},
        [&](Me &m) {
            for (int i = 0; m.id == 0 && i < 300; i++) {
                CHECK(FM_send(1, other_id, some.data(), 10) == 0);
                m.sleep(i < 100 ? sim::ms : 0);
            }
            if (m.id == 1) {
                m.until([&] { return m.count == 100; });
                first = m.node->posted();
                m.sleep(sim::sec);
                m.until([&] { return m.count == 300; });
                burst = m.node->posted();
                for (int looks = 0; looks < 100000; looks++)
                    FM_extract(FM_ALL);
                for (int i = 0; i < 300; i++)
                    CHECK(FM_send(0, other_id, some.data(), 10) == 0);
            } else {
                m.until([&] { return m.count == 300; });
                for (int i = 0; i < 300; i++) {
                    CHECK(FM_send(1, other_id, some.data(), 10) == 0);
                    m.sleep(sim::ms);
                }
            }
            if (m.id == 1) {
                m.until([&] { return m.count == 600; });
                later = m.node->posted();
            }
        },
        flow_handlers);
    job.run();
    CHECK(first <= 16);
    CHECK(burst > 32);
    CHECK(later <= 16);
}

TEST_CASE("a slow receiver gets all of it, short and long")
{
    const uint32_t total = 400;
    Job job(
        Plan::rough(5),
        [&](Me &m) {
            if (m.id == 0)
                for (uint32_t i = 0; i < total; i++)
                    CHECK(FM_send(1, other_id, some.data(), i % 40 == 0 ? 200000 : 700) == 0);
            while (m.id == 1 && m.count < total) {
                FM_extract(3000);
                m.sleep(100 * sim::us);
            }
        },
        flow_handlers);
    job.run();
    CHECK(job.members[1]->count == total);
}

TEST_CASE("FM_extract takes whole packets up to its limit, and ends when a handler says FM_QUIT")
{
    Job job(
        Plan{},
        [](Me &m) {
            if (m.id == 0) {
                for (int i = 0; i < 20; i++)
                    CHECK(FM_send(1, other_id, some.data(), 1000) == 0);
                for (int i = 0; i < 5; i++)
                    CHECK(FM_send(1, note_id, some.data(), 10) == 0);
                return;
            }
            m.sleep(sim::sec);
            CHECK(FM_extract(0) == 0);
            CHECK(m.count == 0);
            CHECK(FM_extract(1) == 1000);
            CHECK(FM_extract(1000) == 1000);
            CHECK(FM_extract(1001) == 2000);
            CHECK(FM_extract(5999) == 6000);
            CHECK(m.count == 10);
            FM_register_handler(note_id, [](FM_stream *, unsigned) {
                me().count++;
                return FM_QUIT;
            });
            CHECK(FM_extract(FM_ALL) == 10010);
            CHECK(m.count == 21);
            CHECK(FM_extract(FM_ALL) == 10);
            m.until([&] { return m.count == 25; });
        },
        flow_handlers);
    job.run();
}

TEST_CASE("a handler starts with the first packet and waits; others run meanwhile, of any sender")
{
    Plan plan;
    plan.nodes = 3;
    plan.hosts = 3;
    Job job(
        plan,
        [](Me &m) {
            if (m.id == 1) {
                FM_stream *slow = begin(0, 12000, long_id), *other = begin(0, 12000, long_id);
                FM_send_piece(slow, some.data(), 5000);
                FM_send_piece(other, some.data(), 5000); // a full packet of each has left
                m.sleep(100 * sim::ms);
                CHECK(FM_send(0, note_id, some.data(), 10) == 0);
                m.sleep(100 * sim::ms);
                FM_send_piece(other, some.data(), 7000);
                FM_end_message(other);
                m.sleep(100 * sim::ms);
                FM_send_piece(slow, some.data(), 7000);
                FM_end_message(slow);
            } else if (m.id == 2) {
                m.sleep(50 * sim::ms);
                CHECK(FM_send(0, note_id, some.data(), 10) == 0);
            } else {
                m.until([&] { return m.count == 4; });
                CHECK(m.seen == Seen{"start", "start", "from 2", "from 1", "half 6000", "end 6000 error 0",
                                     "half 6000", "end 6000 error 0"});
                CHECK(m.node->stacks() == 2);
            }
        },
        flow_handlers);
    job.run();
}

TEST_CASE("a handler that reads less loses the rest and nothing else; one that reads more gets a short count")
{
    for (const uint32_t length : {3u, 4096u, 11000u, 13000u, 100000u, 190000u}) {
        CAPTURE(length);
        Job job(
            Plan{},
            [&](Me &m) {
                if (m.id == 0) {
                    for (int i = 0; i < 3; i++) {
                        CHECK(FM_send(1, note_id, some.data(), length) == 0); // reads nothing
                        CHECK(FM_send(1, long_id, some.data(), length) == 0); // reads 12,000
                    }
                    CHECK(FM_send(1, note_id, some.data(), 5) == 0);
                } else {
                    m.until([&] { return m.count == 7; });
                    const uint32_t first = std::min(length, 6000u), second = std::min(length - first, 6000u);
                    Seen one{"from 0", "start", "half " + std::to_string(first),
                             "end " + std::to_string(second) + " error " +
                                 std::to_string(length < 12000 ? FM_E_END : 0)};
                    Seen all;
                    for (int i = 0; i < 3; i++)
                        all.insert(all.end(), one.begin(), one.end());
                    all.push_back("from 0");
                    CHECK(std::is_permutation(all.begin(), all.end(), m.seen.begin(), m.seen.end()));
                    FM_extract(FM_ALL);
                    CHECK(m.node->held() == 0);
                }
            },
            flow_handlers);
        job.run();
    }
}

TEST_CASE("a message may be shorter than announced")
{
    Job job(
        Plan{},
        [](Me &m) {
            const uint32_t announced[] = {100, 4096, 5000, 20000, 500000},
                           given[] = {0, 50, 4088, 4096, 5000, 40000};
            uint32_t sum = 0;
            for (uint32_t a : announced)
                for (uint32_t g : given)
                    if (g <= a)
                        sum += g;
            FM_register_handler(other_id, [](FM_stream *stream, unsigned) {
                char bytes[4096];
                while (ULONG got = FM_receive(bytes, stream, sizeof bytes))
                    me().count += got;
                CHECK(FM_errno == FM_E_END);
                return FM_CONTINUE;
            });
            if (m.id == 0)
                for (uint32_t a : announced)
                    for (uint32_t g : given)
                        if (g <= a) {
                            FM_stream *stream = begin(1, a, other_id);
                            for (int nothing = 0; nothing < 300; nothing++)
                                FM_send_piece(stream, nullptr, 0);
                            FM_send_piece(stream, some.data(), g);
                            FM_end_message(stream);
                        }
            if (m.id == 1)
                m.until([&] { return m.count == sum; });
        },
        flow_handlers);
    job.run();
}

TEST_CASE("sends run no handler; FM_begin_message refuses where it could wait for ever")
{
    Job job(
        Plan{},
        [](Me &m) {
            uint32_t sent = 0;
            for (; FM_send(1 - m.id, other_id, some.data(), 4000) == 0; sent++) {
            }
            CHECK(FM_errno == FM_E_FULL);
            CHECK(sent >= m.node->window());
            CHECK(m.count == 0);
            CHECK(FM_begin_message(1 - m.id, 10, other_id) == nullptr);
            CHECK(FM_errno == FM_E_FULL);
            m.until([&] { return m.count >= m.node->window(); });
            FM_stream *stream = begin(1 - m.id, 10, note_id);
            FM_end_message(stream);
            m.until([&] { return !m.seen.empty(); });
        },
        flow_handlers);
    job.run();
}

TEST_CASE("inside a handler nothing waits")
{
    Job job(
        Plan{},
        [](Me &m) {
            FM_register_handler(long_id, [](FM_stream *, unsigned sender) {
                CHECK(FM_begin_message(sender, 1 << 20, note_id) == nullptr);
                CHECK(FM_errno == FM_E_TOO_LONG);
                CHECK(FM_extract(FM_ALL) == 0);
                CHECK(FM_errno == FM_E_IN_HANDLER);
                CHECK(!me().node->close());
                uint32_t sent = 0;
                while (FM_send(sender, other_id, some.data(), 100) == 0)
                    sent++;
                CHECK(FM_errno == FM_E_FULL);
                CHECK(sent == me().node->window());
                CHECK(FM_begin_message(sender, 10, note_id) == nullptr);
                CHECK(FM_errno == FM_E_FULL);
                me().count = sent;
                return FM_CONTINUE;
            });
            if (m.id == 0) {
                CHECK(FM_send(1, long_id, nullptr, 0) == 0);
                m.sleep(sim::sec); // does not extract
                m.until([&] { return m.count == m.node->window(); });
            } else {
                m.until([&] { return m.count != 0; });
            }
        },
        flow_handlers);
    job.run();
}

TEST_CASE("handlers forward what they receive, piece by piece")
{
    Plan plan = Plan::rough(9);
    plan.nodes = 4;
    Job job(plan, [](Me &m) {
        FM_register_handler(long_id, [](FM_stream *stream, unsigned) {
            if (me().id == 0) {
                std::vector<char> all(70000);
                CHECK(FM_receive(all.data(), stream, 70000) == 70000);
                CHECK(all == text_of(0, 1, 70000));
                me().count++;
                return FM_CONTINUE;
            }
            std::vector<char> bytes(70000); // stays until the end
            FM_stream *on = FM_begin_message((me().id + 1) % me().nodes, 70000, long_id);
            REQUIRE(on);
            for (uint32_t at = 0; at < 70000; at += 7000) {
                CHECK(FM_receive(&bytes[at], stream, 7000) == 7000);
                FM_send_piece(on, &bytes[at], 7000);
            }
            FM_end_message(on);
            me().count++;
            return FM_CONTINUE;
        });
        if (m.id == 0)
            CHECK(FM_send(1, long_id, text_of(0, 1, 70000).data(), 70000) == 0);
        m.until([&] { return m.count == 1; });
    });
    job.run();
}

TEST_CASE("bad calls: a clear error each, and nothing is lost")
{
    Job job(
        Plan{},
        [](Me &m) {
            const auto error = [] { return std::exchange(FM_errno, 0); };
            FM_errno = 0;
            if (m.id == 0) {
                CHECK(FM_begin_message(2, 10, note_id) == nullptr);
                CHECK(error() == FM_E_NODE);
                CHECK(FM_begin_message(1, 10, 1024) == nullptr);
                CHECK(error() == FM_E_HANDLER);
                CHECK(FM_send(7, note_id, some.data(), 10) == -FM_E_NODE);
                CHECK(error() == FM_E_NODE);
                CHECK(FM_register_handler(1024, note_sender) == FM_ANY_ID);
                CHECK(error() == FM_E_HANDLER);
                CHECK(FM_register_handler(FM_ANY_ID, note_sender) == 4);

                FM_stream *stream = FM_begin_message(1, 10, long_id);
                char byte;
                CHECK(FM_receive(&byte, stream, 1) == 0);
                CHECK(error() == FM_E_STREAM);
                FM_send_piece(stream, some.data(), 11);
                CHECK(error() == FM_E_LENGTH);
                FM_send_piece(stream, some.data(), 8);
                FM_send_piece(stream, some.data(), 3);
                CHECK(error() == FM_E_LENGTH);
                FM_send_piece(stream, some.data(), 2);
                CHECK(error() == 0);
                FM_end_message(stream);
                CHECK(error() == 0);
                FM_end_message(stream);
                CHECK(error() == FM_E_STREAM);
                FM_send_piece(stream, some.data(), 1);
                CHECK(error() == FM_E_STREAM);
                FM_send_piece(nullptr, some.data(), 1);
                CHECK(error() == FM_E_STREAM);

                FM_stream *open[17] = {};
                for (FM_stream *&one : open)
                    one = FM_begin_message(1, 10, note_id);
                CHECK(open[15]);
                CHECK(!open[16]);
                CHECK(error() == FM_E_BUSY);
                for (int i = 0; i < 16; i++)
                    FM_end_message(open[i]);

                CHECK(FM_send(0, note_id, some.data(), 200000) == -FM_E_TOO_LONG); // nobody would extract
                CHECK(FM_send(1, 77, some.data(), 10) == 0); // unknown there
                CHECK(FM_send(1, 77, some.data(), 100000) == 0);
                CHECK(FM_send(1, 77, some.data(), 200000) == 0);
                CHECK(FM_send(1, note_id, some.data(), 10) == 0);
            } else {
                CHECK(FM_receive(nullptr, nullptr, 1) == 0);
                CHECK(error() == FM_E_STREAM);
                bool unknown = false;
                m.until([&] {
                    unknown |= error() == FM_E_HANDLER;
                    return m.count == 18;
                });
                CHECK(unknown);
                CHECK(m.seen[1] == "half 10");
                CHECK(m.seen[2] == "end 0 error " + std::to_string(FM_E_END));
            }
        },
        flow_handlers);
    job.run();
}

TEST_CASE("a node that is killed: its messages end with an error, and others are not disturbed")
{
    for (const uint32_t length : {12000u, 500000u}) // in packets; in long pieces
        for (const uint64_t seed : {1, 2, 3}) {
            CAPTURE(length, seed);
            Plan plan = Plan::rough(seed);
            plan.nodes = 4;
            plan.hosts = 2;
            bool told = false;
            Job job(
                plan,
                [&](Me &m) {
                    if (m.id == 3) {
                        FM_stream *stream = begin(0, length, long_id);
                        FM_send_piece(stream, some.data(), 5000);
                        m.sleep(5 * sim::sec); // what has left has arrived
                        m.process->kill();
                    }
                    if (m.id == 0) {
                        const auto extract = [&] {
                            FM_errno = 0;
                            if (!FM_extract(FM_ALL))
                                m.sleep(20 * sim::us);
                            told |= FM_errno == FM_E_PEER;
                        };
                        while (m.count == 0) // of the one that dies
                            extract();
                        CHECK(m.seen == Seen{"start", "end 0 error " + std::to_string(FM_E_PEER)});
                        int code = 0;
                        for (int i = 0; i < 1000 && !code; i++)
                            code = FM_send(3, other_id, some.data(), 100);
                        CHECK(code == -FM_E_PEER);
                        CHECK(FM_begin_message(3, 10, other_id) == nullptr);
                        CHECK(FM_errno == FM_E_PEER);
                    }
                    if (m.id == 1 || m.id == 2) {
                        for (uint32_t i = 0; i < 200; i++)
                            send_pieces(3 - m.id, note_id, i, 2000, 500);
                        m.until([&] { return m.count == 200; });
                    }
                },
                [](Me &m) {
                    FM_register_handler(note_id, check_pieces);
                    FM_register_handler(other_id, count_only);
                    FM_register_handler(long_id, [](FM_stream *stream, unsigned) {
                        char bytes[12000];
                        note("start");
                        const ULONG got = FM_receive(bytes, stream, sizeof bytes);
                        // The last byte of what was sent, and what MX had not delivered, may be missing.
                        CHECK(got <= 5000);
                        note("end 0 error " + std::to_string(FM_errno));
                        me().count++;
                        return FM_CONTINUE;
                    });
                    static_cast<void>(m);
                });
            job.run();
            CHECK(told);
        }
}

namespace {

uint32_t asked_for = 0; ///< of FM_receive at once

/// A text of more pieces than a stream has receives.
const std::vector<char> &very_long()
{
    static const std::vector<char> text = text_of(1, 1, 10u << 20);
    return text;
}

/// Receives as much of very_long() as there is.
int as_far_as_it_comes(FM_stream *stream, unsigned)
{
    note("start");
    std::vector<char> part(asked_for);
    uint64_t got = 0;
    FM_errno = 0;
    while (!FM_errno) {
        const uint32_t here = FM_receive(part.data(), stream, static_cast<ULONG>(part.size()));
        CHECK(std::equal(part.begin(), part.begin() + here, very_long().begin() + static_cast<long>(got)));
        got += here;
    }
    CHECK((FM_errno == FM_E_PEER || FM_errno == FM_E_END));
    note(FM_errno == FM_E_END ? "whole " + std::to_string(got) : "broken");
    me().count++;
    return FM_CONTINUE;
}

} // namespace

TEST_CASE("a long message of a sender that is killed is right as far as it comes, and ends with an error")
{
    std::size_t whole = 0, broken = 0;
    const uint64_t steps = sim::sanitized ? 12 : 48;
    for (const uint32_t length : {60000u, 1048676u, 10u << 20})
        for (uint64_t step = 0; step < steps; step++) {
            asked_for = step % 2 ? 700000 : 11u << 20;
            CAPTURE(length, step, asked_for);
            Plan plan;
            plan.nodes = plan.hosts = 3;
            plan.seed = step + 1;
            Job job(
                plan,
                [&](Me &m) {
                    if (m.id == 1)
                        FM_send(0, long_id, very_long().data(), length);
                    if (m.id == 1)
                        m.sleep(1000 * sim::sec);
                    if (m.id == 2) {
                        m.sleep((20 * sim::us + length / 24) * step /
                                steps); // up to about as long as it takes
                        Job::current->processes[1]->kill();
                    }
                    bool told = false;
                    while (m.id == 0 && (!told || m.seen.size() != 2 * m.count)) {
                        FM_errno = 0;
                        if (!FM_extract(FM_ALL))
                            m.sleep(20 * sim::us);
                        told |= FM_errno == FM_E_PEER;
                    }
                    for (const std::string &one : m.seen) {
                        whole += one == "whole " + std::to_string(length);
                        broken += one == "broken";
                        CHECK(
                            (one == "start" || one == "broken" || one == "whole " + std::to_string(length)));
                    }
                },
                [](Me &m) {
                    FM_register_handler(long_id, as_far_as_it_comes);
                    static_cast<void>(m);
                });
            job.run();
        }
    CHECK(whole > 0);
    CHECK(broken > 0);
}

TEST_CASE("copies of long pieces come back from a node that is killed")
{
    uint32_t most = 0;
    Job job(
        Plan{},
        [&](Me &m) {
            if (m.id == 1)
                die_soon(m);
            FM_errno = 0;
            while (FM_errno != FM_E_PEER)
                if (FM_stream *stream = begin(1, 60000, other_id)) {
                    FM_send_piece(stream, some.data(), 60000);
                    FM_end_message(stream);
                    most = std::max(most, m.node->copies_out());
                }
            m.until([&] { return m.node->copies_out() == 0; });
        },
        flow_handlers);
    job.run();
    CHECK(most == 16);
}

TEST_CASE("a sender that waits for a node that is killed is told")
{
    Job job(
        Plan{},
        [&](Me &m) {
            if (m.id == 1)
                die_soon(m);
            int code = 0;
            while (!code)
                code = FM_send(1, other_id, some.data(), 190000);
            CHECK(code == -FM_E_PEER);
        },
        flow_handlers);
    job.run();
}

TEST_CASE("a handler that waits inside a catch block is not mixed up with others")
{
    Job job(Plan{}, [](Me &m) {
        FM_register_handler(long_id, [](FM_stream *stream, unsigned) {
            char bytes[6000];
            try {
                throw int(me().count++);
            } catch (int mine) {
                FM_receive(bytes, stream, sizeof bytes);
                try {
                    throw;
                } catch (int again) {
                    CHECK(again == mine);
                    note("kept");
                }
            }
            return FM_CONTINUE;
        });
        if (m.id == 0) {
            FM_stream *one = begin(1, 6000, long_id), *two = begin(1, 6000, long_id);
            for (FM_stream *stream : {one, two})
                FM_send_piece(stream, some.data(), 5000);
            m.sleep(sim::ms);
            for (FM_stream *stream : {one, two}) {
                FM_send_piece(stream, some.data(), 1000);
                FM_end_message(stream);
            }
        } else {
            m.until([&] { return m.seen.size() == 2; });
        }
    });
    job.run();
}

} // namespace emx::fmtest
