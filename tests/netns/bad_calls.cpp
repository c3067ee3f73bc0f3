// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Small MX programs that do one thing, for tests that look at texts and exit statuses (bad_input.sh,
// trust.sh).
//
//   bad_calls open BOARD ENDPOINT       opens and closes an endpoint; -1 is any
//   bad_calls crowd BOARD               opens one endpoint after the other, until there are no more
//   bad_calls serve BOARD ENDPOINT      keeps one open, until it is killed
//   bad_calls connect NIC ENDPOINT KEY MS
//   bad_calls send NIC ENDPOINT         sends until a send fails, and tells why
//   bad_calls pointers                  calls everything with pointers that are not there
// Errors end in the library's default handler: a text, and status 255.
#include <mx_extensions.h>
#include <myriexpress.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr uint32_t key = 0x12345;

uint32_t number(const char *text) { return static_cast<uint32_t>(std::strtoll(text, nullptr, 0)); }

mx_endpoint_t open_endpoint(const char *board, const char *endpoint)
{
    mx_endpoint_t ep = nullptr;
    mx_init();
    mx_open_endpoint(number(board), number(endpoint), key, nullptr, 0, &ep);
    return ep;
}

int open_and_close(char **words)
{
    mx_close_endpoint(open_endpoint(words[0], words[1]));
    mx_finalize();
    std::puts("opened");
    return 0;
}

[[noreturn]] void crowd(const char *board)
{
    mx_init();
    for (;;) {
        mx_endpoint_t ep = nullptr;
        mx_open_endpoint(number(board), MX_ANY_ENDPOINT, key, nullptr, 0, &ep);
    }
}

[[noreturn]] void serve(char **words)
{
    mx_endpoint_t ep = open_endpoint(words[0], words[1]);
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        uint32_t result = 0;
        mx_status_t status;
        mx_probe(ep, 1000, 0, 0, &status, &result);
        if (!result)
            continue;
        mx_request_t request = nullptr;
        mx_irecv(ep, nullptr, 0, status.match_info, MX_MATCH_MASK_NONE, nullptr, &request);
        mx_wait(ep, &request, MX_INFINITE, &status, &result);
    }
}

mx_endpoint_addr_t connect_to(mx_endpoint_t ep, const char *nic, const char *endpoint, uint32_t with_key,
                              uint32_t milliseconds)
{
    mx_endpoint_addr_t address{};
    mx_connect(ep, std::strtoull(nic, nullptr, 16), number(endpoint), with_key, milliseconds, &address);
    return address;
}

int connect_once(char **words)
{
    mx_endpoint_t ep = open_endpoint("-1", "-1");
    connect_to(ep, words[0], words[1], number(words[2]), number(words[3]));
    mx_finalize();
    std::puts("connected");
    return 0;
}

int send_until_it_fails(char **words)
{
    mx_endpoint_t ep = open_endpoint("-1", "-1");
    const mx_endpoint_addr_t to = connect_to(ep, words[0], words[1], key, 5000);
    mx_set_error_handler(MX_ERRORS_RETURN);
    std::puts("sending");
    std::fflush(stdout);
    for (;;) {
        mx_request_t request = nullptr;
        mx_status_t status{};
        uint32_t result = 0;
        mx_issend(ep, nullptr, 0, to, 1, nullptr, &request);
        if (mx_wait(ep, &request, MX_INFINITE, &status, &result) != MX_SUCCESS ||
            status.code != MX_STATUS_SUCCESS) {
            std::printf("send failed: %s\n", mx_strstatus(status.code));
            break;
        }
    }
    mx_set_error_handler(nullptr);
    connect_to(ep, words[0], words[1], key, 2000);
    return 0;
}

// ---- pointers that are not there

std::string last_text;

mx_return_t remember(char *text, mx_return_t code)
{
    last_text = text ? text : "";
    return code;
}

struct Attempt {
    const char *name;
    std::function<mx_return_t()> call;
    enum { fails, optional, silent } want; ///< silent: fails without calling the handler
};

std::vector<Attempt> attempts(mx_endpoint_t ep, mx_endpoint_addr_t self)
{
    static char buffer[8];
    static mx_segment_t nowhere{nullptr, 8};
    static std::vector<mx_segment_t> many(257, mx_segment_t{buffer, 1});
    static mx_request_t none, request;
    static mx_status_t status;
    static uint32_t result, board;
    static uint64_t nic = 0;
    constexpr uint64_t mask = MX_MATCH_MASK_NONE;
    return {
        {"mx_open_endpoint", [] { return mx_open_endpoint(0, 0, 0, nullptr, 0, nullptr); }, Attempt::fails},
        {"mx_open_endpoint",
         [] {
             mx_endpoint_t e;
             return mx_open_endpoint(0, 0, 0, nullptr, 3, &e);
         },
         Attempt::fails},
        {"mx_close_endpoint", [] { return mx_close_endpoint(nullptr); }, Attempt::fails},
        {"mx_wakeup", [] { return mx_wakeup(nullptr); }, Attempt::fails},
        {"mx_get_endpoint_addr", [=] { return mx_get_endpoint_addr(ep, nullptr); }, Attempt::fails},
        {"mx_decompose_endpoint_addr", [=] { return mx_decompose_endpoint_addr(self, nullptr, nullptr); },
         Attempt::optional},
        {"mx_isend", [=] { return mx_isend(ep, nullptr, 1, self, 1, nullptr, &request); }, Attempt::fails},
        {"mx_isend", [=] { return mx_isend(ep, &nowhere, 1, self, 1, nullptr, &request); }, Attempt::fails},
        {"mx_isend", [=] { return mx_isend(ep, many.data(), 257, self, 1, nullptr, &request); },
         Attempt::fails},
        {"mx_issend", [=] { return mx_issend(ep, nullptr, 1, self, 1, nullptr, &request); }, Attempt::fails},
        {"mx_issend", [=] { return mx_issend(ep, many.data(), 257, self, 1, nullptr, &request); },
         Attempt::fails},
        {"mx_irecv", [=] { return mx_irecv(ep, nullptr, 1, 1, mask, nullptr, &request); }, Attempt::fails},
        {"mx_irecv", [=] { return mx_irecv(ep, &nowhere, 1, 1, mask, nullptr, &request); }, Attempt::fails},
        {"mx_irecv", [=] { return mx_irecv(ep, many.data(), 257, 1, mask, nullptr, &request); },
         Attempt::fails},
        {"mx_irecv", [=] { return mx_irecv(ep, nullptr, 0, 3, 1, nullptr, &request); }, Attempt::fails},
        {"mx_irecv", [=] { return mx_irecv(ep, nullptr, 0, 99, mask, nullptr, nullptr); }, Attempt::optional},
        {"mx_test", [=] { return mx_test(ep, nullptr, &status, &result); }, Attempt::fails},
        {"mx_test", [=] { return mx_test(ep, &none, &status, &result); }, Attempt::fails},
        {"mx_wait", [=] { return mx_wait(ep, nullptr, 1, &status, &result); }, Attempt::fails},
        {"mx_test_any", [=] { return mx_test_any(ep, 0, 0, nullptr, nullptr); }, Attempt::fails},
        {"mx_test_any", [=] { return mx_test_any(ep, 3, 1, &status, &result); }, Attempt::fails},
        {"mx_wait_any", [=] { return mx_wait_any(ep, 1, 3, 1, &status, &result); }, Attempt::fails},
        {"mx_ipeek", [=] { return mx_ipeek(ep, nullptr, nullptr); }, Attempt::fails},
        {"mx_peek", [=] { return mx_peek(ep, 1, nullptr, nullptr); }, Attempt::fails},
        {"mx_iprobe", [=] { return mx_iprobe(ep, 0, 0, nullptr, nullptr); }, Attempt::fails},
        {"mx_iprobe", [=] { return mx_iprobe(ep, 3, 1, &status, &result); }, Attempt::fails},
        {"mx_probe", [=] { return mx_probe(ep, 1, 3, 1, &status, &result); }, Attempt::fails},
        {"mx_ibuffered", [=] { return mx_ibuffered(ep, nullptr, &result); }, Attempt::silent},
        {"mx_buffered", [=] { return mx_buffered(ep, nullptr, 1, &result); }, Attempt::silent},
        {"mx_cancel", [=] { return mx_cancel(ep, nullptr, &result); }, Attempt::fails},
        {"mx_forget", [=] { return mx_forget(ep, nullptr); }, Attempt::fails},
        {"mx_context", [] { return mx_context(nullptr, nullptr); }, Attempt::fails},
        {"mx_set_request_timeout", [=] { return mx_set_request_timeout(ep, nullptr, 1); }, Attempt::optional},
        {"mx_connect", [=] { return mx_connect(ep, 1, 0, key, 1, nullptr); }, Attempt::fails},
        {"mx_hostname_to_nic_id", [] { return mx_hostname_to_nic_id(nullptr, &nic); }, Attempt::fails},
        {"mx_nic_id_to_hostname", [] { return mx_nic_id_to_hostname(1, nullptr); }, Attempt::fails},
        {"mx_board_number_to_nic_id", [] { return mx_board_number_to_nic_id(0, nullptr); }, Attempt::fails},
        {"mx_nic_id_to_board_number", [] { return mx_nic_id_to_board_number(1, nullptr); }, Attempt::fails},
        {"mx_get_info", [=] { return mx_get_info(ep, MX_NIC_COUNT, nullptr, 0, nullptr, 0); },
         Attempt::fails},
        {"mx_get_info", [=] { return mx_get_info(ep, MX_COUNTERS_VALUES, &board, 4, nullptr, 9999); },
         Attempt::fails},
        {"mx_get_endpoint_addr_context", [=] { return mx_get_endpoint_addr_context(self, nullptr); },
         Attempt::fails},
        {"mx_set_messages_per_ack", [=] { return mx_set_messages_per_ack(ep, 4); }, Attempt::optional},
        {"mx_register_unexp_handler", [=] { return mx_register_unexp_handler(ep, nullptr, nullptr); },
         Attempt::optional},
    };
}

/// Each call survives, and an error comes with a text that names the function.
int call_with_bad_pointers()
{
    mx_endpoint_t ep = open_endpoint("-1", "-1");
    mx_endpoint_addr_t self;
    mx_get_endpoint_addr(ep, &self);
    mx_set_error_handler(remember);
    int wrong = 0;
    for (const Attempt &attempt : attempts(ep, self)) {
        last_text.clear();
        const mx_return_t code = attempt.call();
        const bool told =
            last_text.starts_with(attempt.name) && last_text.size() > std::strlen(attempt.name) + 10;
        if (code == MX_SUCCESS ? attempt.want != Attempt::optional
                               : told == (attempt.want == Attempt::silent)) {
            std::printf("%s: code %d, text \"%s\"\n", attempt.name, int(code), last_text.c_str());
            wrong++;
        }
    }
    mx_finalize();
    std::printf("%d of the calls went wrong\n", wrong);
    return wrong ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "open" && argc == 4)
        return open_and_close(argv + 2);
    if (what == "crowd" && argc == 3)
        crowd(argv[2]);
    if (what == "serve" && argc == 4)
        serve(argv + 2);
    if (what == "connect" && argc == 6)
        return connect_once(argv + 2);
    if (what == "send" && argc == 4)
        return send_until_it_fails(argv + 2);
    if (what == "pointers" && argc == 2)
        return call_with_bad_pointers();
    std::fputs("usage: see the first lines of bad_calls.cpp\n", stderr);
    return 2;
}
