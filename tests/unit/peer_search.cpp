// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Search for the boards behind addresses (driver/agent/peer_search.hpp): which answers count, how often is
// asked, and what claims of strangers cause.
#include <driver/agent/peer_search.hpp>

#include <emx/wire.h>

#include <catch2/catch.hpp>

#include <vector>

using namespace emx;

namespace {

constexpr uint64_t ms = 1000000, second = 1000 * ms;
constexpr uint64_t board = 0x020000000001, other_board = 0x020000000002;

UdpAddress host(unsigned number) { return v4_address(0x0a000000 + number, 34783); }

/// A search whose questions are kept, and whose tokens count up from 1.
struct Asked {
    struct Question {
        UdpAddress to;
        uint64_t mac;
        uint32_t token;
    };
    std::vector<Question> questions;
    uint32_t tokens = 0;
    PeerSearch search{[this](const UdpAddress &to, uint64_t mac, uint32_t token) {
                          questions.push_back({to, mac, token});
                      },
                      [this] { return ++tokens; }};

    /// Serves all that is due until then; the findings.
    std::vector<Finding> run(uint64_t until)
    {
        std::vector<Finding> findings;
        for (uint64_t now = search.due(); now <= until; now = search.due()) {
            const Finding finding = search.tick(now);
            if (finding.kind != Finding::Kind::nothing)
                findings.push_back(finding);
        }
        return findings;
    }
    /// The last question.
    const Question &last() const { return questions.back(); }
};

} // namespace

TEST_CASE("a host of the list is asked, ever more seldom, until it answers")
{
    Asked asked;
    asked.search.list(host(1), "node1", 0);
    CHECK(asked.search.is_listed(host(1)));
    CHECK(asked.search.sought() == 1);
    CHECK(asked.run(0).empty());
    REQUIRE(asked.questions.size() == 1);
    CHECK(asked.last().to == host(1));
    CHECK(asked.last().mac == EMX_MAC_BROADCAST);
    CHECK(asked.search.due() == 50 * ms);
    CHECK(asked.run(3600 * second).empty());
    CHECK(asked.questions.size() > 700); // one in five seconds, and never none
    CHECK(asked.questions.size() < 740);

    const Finding found = asked.search.answered(asked.last().token, board, host(1));
    CHECK(found.kind == Finding::Kind::found);
    CHECK(found.mac == board);
    CHECK(found.where == host(1));
    CHECK(found.listed);
    CHECK(found.name == "node1");
    CHECK(asked.search.sought() == 0);
    CHECK(asked.search.due() == ~uint64_t{0});
}

TEST_CASE("an answer counts once, from where was asked, with the token of the question")
{
    Asked asked;
    asked.search.list(host(1), "node1", 0);
    asked.search.list(host(2), "node2", 0);
    asked.run(0);
    REQUIRE(asked.questions.size() == 2);
    const uint32_t token = asked.questions[0].token;
    const auto answered = [&](uint32_t with, const UdpAddress &from) {
        return asked.search.answered(with, board, from).kind;
    };
    CHECK(answered(token + 100, host(1)) == Finding::Kind::nothing);
    CHECK(answered(token, host(2)) == Finding::Kind::nothing);
    CHECK(answered(token, host(1).with_port(34784)) == Finding::Kind::nothing);
    CHECK(asked.search.sought() == 2);
    CHECK(answered(token, host(1)) == Finding::Kind::found);
    CHECK(answered(token, host(1)) == Finding::Kind::nothing);
    CHECK(asked.search.sought() == 1);
}

TEST_CASE("a board that is suspected must answer itself")
{
    Asked asked;
    asked.search.suspect(board, host(1), 0);
    asked.run(0);
    REQUIRE(asked.questions.size() == 1);
    CHECK(asked.last().mac == board);
    CHECK(asked.search.answered(asked.last().token, other_board, host(1)).kind == Finding::Kind::nothing);
    const Finding found = asked.search.answered(asked.last().token, board, host(1));
    CHECK(found.kind == Finding::Kind::found);
    CHECK_FALSE(found.listed);
    CHECK(asked.search.due() == ~uint64_t{0});
}

TEST_CASE("a suspicion that nobody confirms is forgotten")
{
    Asked asked;
    asked.search.suspect(board, host(1), 0);
    CHECK(asked.run(3600 * second).empty());
    CHECK(asked.questions.size() == 4);
    CHECK(asked.search.due() == ~uint64_t{0});
    CHECK(asked.search.answered(asked.last().token, board, host(1)).kind == Finding::Kind::nothing);
}

TEST_CASE("made-up sources draw a bounded number of questions")
{
    Asked asked;
    for (unsigned i = 1; i <= 100000; i++)
        asked.search.suspect(board + i, host(i), 0);
    asked.run(0);
    CHECK(asked.questions.size() == 256);
    for (const UdpAddress &none :
         {v4_address(0xffffffff, 34783), v4_address(0xe0000001, 34783), UdpAddress{}}) {
        Asked nobody;
        nobody.search.suspect(board, none, 0);
        CHECK(nobody.search.due() == ~uint64_t{0});
    }
}

TEST_CASE("frames in the name of a listed host draw one question in a while")
{
    Asked asked;
    asked.search.list(host(1), "node1", 0);
    asked.run(10 * second);
    asked.questions.clear();
    const uint64_t begin = 10 * second;
    for (uint64_t now = begin; now < begin + second; now += ms / 10) {
        asked.search.suspect(board, host(1), now);
        asked.run(now);
    }
    CHECK(asked.questions.size() >= 10); // it may be there now
    CHECK(asked.questions.size() <= 21);

    asked.search.answered(asked.last().token, board, host(1));
    asked.questions.clear();
    for (uint64_t now = begin + second; now < begin + 2 * second; now += ms / 10) {
        asked.search.suspect(other_board, host(1), now); // another board is there than before, perhaps
        asked.run(now);
    }
    CHECK(asked.questions.size() >= 10);
    CHECK(asked.questions.size() <= 21);
    CHECK(asked.search.answered(asked.last().token, other_board, host(1)).kind == Finding::Kind::found);
}

TEST_CASE("a board moves when it no more answers where it was")
{
    Asked asked;
    asked.search.doubt(board, host(1), host(2), 0);
    asked.search.doubt(board, host(1), host(3), 0); // one doubt at a time
    const std::vector<Finding> findings = asked.run(3600 * second);
    CHECK(asked.questions.size() == 5);
    for (const Asked::Question &each : asked.questions)
        CHECK(each.to == host(1));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == Finding::Kind::moved);
    CHECK(findings[0].mac == board);
    CHECK(findings[0].where == host(2));
    CHECK(asked.search.due() == ~uint64_t{0});
}

TEST_CASE("a board that answers where it was stays, whatever another says")
{
    Asked asked;
    asked.search.doubt(board, host(1), host(2), 0);
    asked.run(0);
    CHECK(asked.search.answered(asked.last().token, board, host(2)).kind == Finding::Kind::nothing);
    CHECK(asked.search.answered(asked.last().token, other_board, host(1)).kind == Finding::Kind::nothing);
    const Finding finding = asked.search.answered(asked.last().token, board, host(1));
    CHECK(finding.kind == Finding::Kind::stayed);
    CHECK(finding.where == host(2));
    CHECK(asked.run(3600 * second).empty());
}

TEST_CASE("a host of the list that is this one gets no more questions")
{
    Asked asked;
    std::string name;
    asked.search.list(host(1), "node1", 0);
    asked.run(0);
    CHECK_FALSE(asked.search.is_own(asked.last().token + 100, name));
    CHECK(asked.search.is_own(asked.last().token, name));
    CHECK(name == "node1");
    CHECK(asked.search.sought() == 0);
    CHECK(asked.search.due() == ~uint64_t{0});
}

TEST_CASE("who waits for a host has those of the list asked at once")
{
    Asked asked;
    asked.search.list(host(1), "node1", 0);
    asked.search.list(host(2), "node2", 0);
    asked.run(100 * second);
    asked.search.answered(asked.questions[1].token, board, host(2));
    asked.questions.clear();
    asked.search.hurry(101 * second);
    asked.run(101 * second);
    REQUIRE(asked.questions.size() == 1);
    CHECK(asked.last().to == host(1));
    CHECK(asked.search.due() == 101 * second + 50 * ms);
}

TEST_CASE("a list that is read again keeps its hosts apart, by the new names")
{
    Asked asked;
    asked.search.list(host(1), "node1", 0);
    asked.run(0);
    asked.search.answered(asked.last().token, board, host(1));
    asked.search.list(host(1), "head", second);
    CHECK(asked.search.sought() == 1);
    asked.run(second);
    CHECK(asked.search.answered(asked.last().token, board, host(1)).name == "head");

    asked.search.suspect(board, host(2), second);
    asked.search.clear_list();
    CHECK_FALSE(asked.search.is_listed(host(1)));
    CHECK(asked.search.due() == second); // a suspicion is not of the list
}
