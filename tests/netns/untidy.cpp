// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Programs that are not as tidy as ours: each opens an endpoint, connects, exchanges messages of each kind,
// and closes, in circumstances that the library does not choose (untidy.sh).
//
//   untidy serve ENDPOINT            sends back what comes, until it is killed
//   untidy HOW [WORDS] PARTNER...    PARTNER: MAC:ENDPOINT of a server; itself, too, is a partner
//
// HOW:
//   usual                            with nothing odd
//   closed                           without standard streams: no descriptor of ours is below 3
//   signals                          under signals that come all the time, for its own thread alone
//   cancel                           on threads that are cancelled: in calls that do not wait, and that do
//   gone none|cut|unmapped send|receive  memory of messages is taken away, so
//   slow PID                         while the board agent, that process, is stopped
//   limits KIND                      while descriptors, memory, threads, files, or allocations are short
//   list                             prints the numbers of the system calls that it makes
//   refuse NUMBER ERRNO before|after|TIMES   that call fails from the start, once messages have been
//                                    exchanged, or once it was made so many times
//
// Prints a line for each call that fails. Ends with 0 when all went well, 1 when calls have failed, 2 when
// something is wrong.
#include <mx_extensions.h>
#include <myriexpress.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t key = 0x0dd, short_ms = 2000, long_ms = 60000, number = 7;
// A call that was refused may rightly never come back; all else says only that it hangs.
uint32_t patience_ms = long_ms;
constexpr uint32_t lengths[] = {0, 1, 100, 4000, 20000, 300000};
constexpr uint32_t longest = 300000;

int report_fd = 1;
bool something_failed = false, something_wrong = false;

bool held_back = false; ///< what is said, while files must not grow
char said[1 << 16];
size_t said_bytes = 0;

void say_now()
{
    ::syscall(SYS_write, report_fd, said, said_bytes);
    said_bytes = 0;
    held_back = false;
}

/// Not by functions that are cancellation points.
[[gnu::format(printf, 1, 2)]] void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof(said) - said_bytes;
    const int length = std::vsnprintf(said + said_bytes, room, format, arguments);
    va_end(arguments);
    said_bytes += std::min(static_cast<size_t>(length), room - 1);
    if (!held_back)
        say_now();
}

void wrong(const char *what, const char *more = "")
{
    something_wrong = true;
    say("WRONG: %s%s\n", what, more);
}

bool well(mx_return_t code, const char *call)
{
    if (code == MX_SUCCESS)
        return true;
    something_failed = true;
    say("%s: %s (%d)\n", call, mx_strerror(code), code);
    return false;
}

char last_error[512];

mx_return_t tell(char *text, mx_return_t code)
{
    std::snprintf(last_error, sizeof(last_error), "%s", text);
    say("# %s\n", text);
    return code;
}

// ---- allocations that fail, on this thread

thread_local long allocations_left = -1; ///< until one fails; -1: none does

void *allocate(size_t bytes)
{
    if (allocations_left >= 0 && allocations_left-- == 0)
        return nullptr;
    return std::malloc(bytes ? bytes : 1);
}

} // namespace

[[gnu::noinline]] void *operator new(size_t bytes)
{
    if (void *memory = allocate(bytes))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

// ---- a program

struct Partner {
    uint64_t nic;
    uint32_t endpoint;
    mx_endpoint_addr_t address;
    bool connected;
};

class Life {
public:
    explicit Life(char **words)
    {
        for (; *words; ++words) {
            uint64_t nic = 0;
            const char *at = *words;
            for (int i = 0; i < 6; ++i, ++at) {
                char *end = nullptr;
                nic = nic << 8 | std::strtoul(at, &end, 16);
                at = end;
            }
            partners_.push_back({nic, static_cast<uint32_t>(std::atoi(at)), {}, false});
        }
    }

    bool open(uint32_t endpoint = MX_ANY_ENDPOINT)
    {
        mx_set_error_handler(tell);
        if (!initialised_ && !well(code = mx_init(), "mx_init"))
            return false;
        initialised_ = true;
        code = mx_open_endpoint(0, endpoint, key, nullptr, 0, &ep);
        return well(code, "mx_open_endpoint");
    }

    void connect()
    {
        partners_.push_back({0, 0, {}, false}); // this one
        Partner &self = partners_.back();
        self.connected = well(mx_get_endpoint_addr(ep, &self.address), "mx_get_endpoint_addr");
        for (size_t i = 0; i + 1 < partners_.size(); ++i) {
            Partner &to = partners_[i];
            to.connected =
                well(mx_connect(ep, to.nic, to.endpoint, key, patience_ms, &to.address), "mx_connect");
        }
    }

    void exchange()
    {
        for (const Partner &to : partners_)
            for (const uint32_t length : lengths)
                if (to.connected && !echo(to, length))
                    break;
    }

    void close()
    {
        if (ep)
            well(mx_close_endpoint(ep), "mx_close_endpoint");
        ep = nullptr;
        if (initialised_)
            well(mx_finalize(), "mx_finalize");
        initialised_ = false;
        if (partners_.size() > 0 && partners_.back().nic == 0)
            partners_.pop_back();
    }

    void whole()
    {
        if (open()) {
            connect();
            exchange();
        }
        close();
    }

    void for_partners(const std::function<void(const mx_endpoint_addr_t &to)> &body) const
    {
        for (size_t i = 0; i + 1 < partners_.size(); ++i) // copies for oneself are the program's own
            if (partners_[i].connected)
                body(partners_[i].address);
    }

    mx_endpoint_t ep = nullptr;
    mx_return_t code = MX_SUCCESS;

private:
    /// False when something did not come about: then the partner is left alone.
    bool echo(const Partner &to, uint32_t length)
    {
        const uint64_t match = static_cast<uint64_t>(::getpid()) << 32 | ++messages_;
        for (uint32_t i = 0; i < length; ++i)
            out_[i] = static_cast<unsigned char>(i * 7 + messages_);
        std::memset(in_, 0, longest);
        mx_segment_t from{out_, length}, into{in_, length};
        mx_request_t receive = nullptr, send = nullptr;
        if (!well(mx_irecv(ep, &into, 1, match, MX_MATCH_MASK_NONE, nullptr, &receive), "mx_irecv") ||
            !well(mx_isend(ep, &from, 1, to.address, match, nullptr, &send), "mx_isend"))
            return false;
        mx_status_t status;
        if (!finish(send, "send", status) || !finish(receive, "receive", status))
            return false;
        if (status.xfer_length != length || std::memcmp(in_, out_, length) != 0)
            wrong("another message came back");
        return true;
    }

    bool finish(mx_request_t request, const char *what, mx_status_t &status)
    {
        uint32_t result = 0;
        if (!well(mx_wait(ep, &request, patience_ms, &status, &result), "mx_wait"))
            return false;
        if (result && status.code == MX_STATUS_SUCCESS)
            return true;
        something_failed = true;
        say("%s: %s\n", what, result ? mx_strstatus(status.code) : "not in time");
        if (!result)
            mx_cancel(ep, &request, &result);
        return false;
    }

    std::vector<Partner> partners_;
    bool initialised_ = false;
    uint32_t messages_ = 0;
    unsigned char out_[longest], in_[longest];
};

[[noreturn]] void serve(uint32_t endpoint)
{
    struct Operation {
        std::vector<unsigned char> bytes;
        bool receives = true;
    };
    constexpr int operations = 16;
    static Operation all[operations];
    mx_endpoint_t ep = nullptr;
    mx_set_error_handler(MX_ERRORS_RETURN);
    if (!well(mx_init(), "mx_init") || !well(mx_open_endpoint(0, endpoint, key, nullptr, 0, &ep), "open"))
        std::exit(2);
    mx_request_t request = nullptr;
    const auto receive = [&](Operation &one) {
        one.receives = true;
        mx_segment_t into{one.bytes.data(), longest};
        mx_irecv(ep, &into, 1, 0, MX_MATCH_MASK_NONE & 0, &one, &request);
    };
    for (Operation &one : all) {
        one.bytes.resize(longest);
        receive(one);
    }
    say("ready\n");
    for (;;) {
        mx_status_t status;
        uint32_t result = 0;
        mx_wait_any(ep, MX_INFINITE, 0, 0, &status, &result);
        auto *one = static_cast<Operation *>(status.context);
        if (!result || !one)
            continue;
        if (one->receives && status.code != MX_STATUS_SUCCESS)
            say("receive: %s\n", mx_strstatus(status.code));
        if (!one->receives || status.code != MX_STATUS_SUCCESS) {
            receive(*one);
            continue;
        }
        one->receives = false;
        mx_segment_t from{one->bytes.data(), status.xfer_length};
        mx_isend(ep, &from, 1, status.source, status.match_info, one, &request);
    }
}

// ---- circumstances

void closed(Life &life)
{
    report_fd = ::fcntl(1, F_DUPFD_CLOEXEC, 50);
    for (const int fd : {0, 1, 2})
        ::close(fd);
    const auto look = [](const char *when) {
        for (const int fd : {0, 1, 2}) {
            char path[64], name[200] = {};
            std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
            if (::readlink(path, name, sizeof(name) - 1) > 0)
                say("WRONG: descriptor %d is %s %s\n", fd, name, when), something_wrong = true;
        }
    };
    if (!life.open())
        return;
    look("after opening");
    life.connect();
    life.exchange();
    look("after messages");
    life.close();
    look("after closing");
}

/// Lines of /proc/self/task/*/status that begin so, of the threads that are not the caller.
std::vector<std::string> of_other_threads(const std::string &key_of_line)
{
    std::vector<std::string> found;
    DIR *folder = ::opendir("/proc/self/task");
    while (const dirent *entry = folder ? ::readdir(folder) : nullptr) {
        std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/status");
        if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == ::gettid())
            continue;
        for (std::string line; std::getline(file, line);)
            if (line.rfind(key_of_line, 0) == 0)
                found.push_back(line.substr(key_of_line.size()));
    }
    if (folder)
        ::closedir(folder);
    return found;
}

std::atomic<uint32_t> signals_taken{0};
std::atomic<pid_t> their_thread{0};

void signals(Life &life)
{
    their_thread = ::gettid();
    struct sigaction action {};
    action.sa_handler = [](int) { // without SA_RESTART
        signals_taken++;
        if (::gettid() != their_thread)
            std::abort();
    };
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    if (life.open()) {
        life.connect();
        life.exchange();
        const std::vector<std::string> masks = of_other_threads("SigBlk:");
        if (masks.empty())
            wrong("the library has no thread");
        for (const std::string &mask : masks) {
            // All but SIGKILL, SIGSTOP, and the two that the C library keeps for itself.
            const uint64_t all =
                ~(uint64_t{1} << (SIGKILL - 1) | uint64_t{1} << (SIGSTOP - 1) | uint64_t{3} << 31);
            if ((std::stoull(mask, nullptr, 16) & all) != all)
                wrong("a thread of the library takes signals: ", mask.c_str());
        }
    }
    life.close();
    ::setitimer(ITIMER_REAL, nullptr, nullptr);
    if (signals_taken == 0)
        wrong("no signal came");
}

/// Runs body on a thread that is cancelled before it begins.
bool survives(const std::function<void()> &body)
{
    struct Run {
        const std::function<void()> &body;
        bool done;
    } run{body, false};
    pthread_t thread;
    ::pthread_create(
        &thread, nullptr,
        [](void *given) -> void * {
            auto *one = static_cast<Run *>(given);
            ::pthread_cancel(::pthread_self());
            one->body();
            one->done = true;
            ::pthread_testcancel();
            return nullptr;
        },
        &run);
    void *result = nullptr;
    ::pthread_join(thread, &result);
    if (run.done && result != PTHREAD_CANCELED)
        wrong("a cancelled thread goes on");
    return run.done;
}

/// Each call of which programs expect that it does not wait, and each that does.
void cancel(Life &life)
{
    mx_endpoint_t &ep = life.ep;
    static char byte[1];
    static mx_segment_t one{byte, 1};
    static mx_request_t send, receive;
    static mx_endpoint_addr_t self;
    static mx_status_t status;
    static uint32_t result;
    const auto check = [](const char *what, const std::function<void()> &body) {
        if (!survives(body))
            wrong("cancelled within ", what);
    };
    check("mx_init, mx_open_endpoint", [&] { life.open(); });
    check("mx_get_endpoint_addr", [&] { mx_get_endpoint_addr(ep, &self); });
    check("mx_irecv, mx_isend", [&] {
        mx_irecv(ep, &one, 1, 5, ~uint64_t{0}, nullptr, &receive);
        mx_isend(ep, &one, 1, self, 5, nullptr, &send);
    });
    check("mx_test, mx_ipeek, mx_iprobe, mx_progress", [&] {
        while (mx_test(ep, &send, &status, &result) == MX_SUCCESS && !result) {
        }
        mx_request_t any;
        mx_ipeek(ep, &any, &result);
        mx_iprobe(ep, 0, 0, &status, &result);
        mx_progress(ep);
        while (mx_test(ep, &receive, &status, &result) == MX_SUCCESS && !result) {
        }
    });
    check("mx_disable_progression, mx_reenable_progression, mx_wakeup", [&] {
        mx_disable_progression(ep);
        mx_reenable_progression(ep);
        mx_wakeup(ep);
    });
    const struct {
        const char *name;
        std::function<void()> body;
    } waits[] = {
        {"mx_wait",
         [&] {
             mx_irecv(ep, &one, 1, 6, ~uint64_t{0}, nullptr, &receive);
             mx_wait(ep, &receive, MX_INFINITE, &status, &result);
         }},
        {"mx_wait_any", [&] { mx_wait_any(ep, MX_INFINITE, 6, ~uint64_t{0}, &status, &result); }},
        {"mx_probe", [&] { mx_probe(ep, MX_INFINITE, 7, ~uint64_t{0}, &status, &result); }},
        {"mx_peek",
         [&] {
             mx_request_t any;
             mx_peek(ep, MX_INFINITE, &any, &result);
         }},
        {"mx_connect",
         [&] {
             mx_endpoint_addr_t nobody;
             mx_connect(ep, 0x020000abcdef, 9, key, MX_INFINITE, &nobody);
         }},
    };
    for (const auto &wait : waits) {
        if (survives(wait.body))
            wrong("not cancelled in ", wait.name);
        mx_isend(ep, &one, 1, self, 8, nullptr, &send); // the endpoint is as usable as before
        mx_irecv(ep, &one, 1, 8, ~uint64_t{0}, nullptr, &receive);
        for (mx_request_t *request : {&send, &receive})
            if (mx_wait(ep, request, long_ms, &status, &result) != MX_SUCCESS || !result)
                wrong("no message after a thread was cancelled in ", wait.name);
    }
    life.connect();
    life.exchange();
    check("mx_close_endpoint, mx_finalize", [&] { life.close(); });
}

/// A message of which one end's memory goes away: before it is posted, both hear of it; afterwards, they may.
void gone(Life &life, const std::string &way, bool sends)
{
    if (!life.open())
        return;
    life.connect();
    uint64_t match = static_cast<uint64_t>(::getpid()) << 32;
    const auto lose = [&](const mx_endpoint_addr_t &to, bool before) {
        const int file = ::memfd_create("gone", 0);
        void *bad = ::ftruncate(file, longest) == 0
                        ? ::mmap(nullptr, longest, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                        : MAP_FAILED;
        const auto take_away = [&] {
            if (way == "none"  ? ::mprotect(bad, longest, PROT_NONE)
                : way == "cut" ? ::ftruncate(file, 4096)
                               : ::munmap(bad, longest))
                wrong("cannot take memory away");
        };
        std::vector<unsigned char> good(longest);
        mx_segment_t from{sends ? bad : good.data(), longest}, into{sends ? good.data() : bad, longest};
        mx_request_t receive = nullptr, send = nullptr;
        if (before)
            take_away();
        mx_irecv(life.ep, &into, 1, ++match, ~uint64_t{0}, nullptr, &receive);
        mx_isend(life.ep, &from, 1, to, match, nullptr, &send);
        if (!before)
            take_away();
        mx_status_t status{};
        uint32_t result = 0;
        mx_wait(life.ep, &send, long_ms, &status, &result);
        if (sends && status.code != MX_STATUS_SUCCESS)
            mx_cancel(life.ep, &receive, &result); // nothing comes back
        else
            mx_wait(life.ep, &receive, long_ms, &status, &result);
        const bool ended = status.code == MX_STATUS_ABORTED || (!before && status.code == MX_STATUS_SUCCESS);
        if (!result || !ended)
            wrong(result ? mx_strstatus(status.code) : "it hangs");
        ::close(file);
    };
    life.for_partners([&](const mx_endpoint_addr_t &to) {
        lose(to, true);
        lose(to, false);
    });
    life.exchange();
    life.close();
}

/// A process goes on until its processor hears of the signal.
void await_stop(pid_t pid)
{
    for (std::string state; state != "T";) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        if (!std::getline(stat, state, ')') || !(stat >> state)) // behind number and name
            return;
    }
}

/// The caller's patience is what a stopped agent costs, and it is the agent that is named.
void slow(Life &life, pid_t agent)
{
    constexpr uint32_t tries = 100, impatient_ms = 1;
    if (!life.open())
        return;
    life.connect();
    ::kill(agent, SIGSTOP);
    await_stop(agent);
    for (uint32_t i = 0; i < tries; ++i) {
        mx_endpoint_addr_t address;
        const mx_return_t code = mx_connect(life.ep, 0x020000001000 + i, 0, key, impatient_ms, &address);
        if (code != MX_TIMEOUT || !std::strstr(last_error, "omxd"))
            wrong("a connect while omxd is stopped says: ", last_error);
    }
    life.exchange();
    ::kill(agent, SIGCONT);
    mx_endpoint_addr_t address;
    for (uint32_t i = 0; std::strstr(last_error, "omxd") && i < long_ms; i += short_ms)
        mx_connect(life.ep, 0x020000002000, 0, key, short_ms, &address);
    if (std::strstr(last_error, "omxd"))
        wrong("omxd, which goes on, is still blamed: ", last_error);
    life.exchange();
    life.close();
    life.whole();
}

int open_descriptors()
{
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd)
        count += ::fcntl(fd, F_GETFD) >= 0;
    return count;
}

uint64_t address_space()
{
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Lets the system have ever more of something, until an endpoint can be opened. Before, the call fails and
/// leaves nothing behind; afterwards, all works.
void until_it_opens(Life &life, const std::function<void(uint64_t)> &allow, const std::function<void()> &all,
                    uint64_t first, uint64_t step, uint64_t most)
{
    life.open(number); // what the first open leaves for good
    life.close();
    const int before = open_descriptors();
    uint64_t failed = 0;
    for (uint64_t allowed = first;; allowed += step) {
        if (allowed > most)
            return wrong("it never opens");
        something_failed = false;
        held_back = true;
        allow(allowed);
        const bool opened = life.open(number);
        all();
        say_now();
        const mx_return_t code = life.code;
        life.close();
        if (opened)
            break;
        failed++;
        if (code != MX_NO_RESOURCES)
            wrong("another code than MX_NO_RESOURCES: ", mx_strerror(code));
        if (open_descriptors() != before)
            wrong("descriptors are left");
        if (!life.open(number))
            return wrong("the endpoint's number is not given back");
        life.close();
    }
    if (failed == 0)
        wrong("nothing was short");
    something_failed = false;
    life.whole();
}

void limit(int resource, uint64_t most)
{
    rlimit now{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
    now.rlim_cur = std::min<rlim_t>(most, now.rlim_max);
    ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// ---- system calls that are refused

/// Sees each system call of the thread that makes it, and of threads that it starts; lets it be, or refuses
/// it.
class Filter {
public:
    Filter()
    {
        std::thread([this] { watch(); }).detach();
        sock_filter program[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF}};
        const sock_fprog given{1, program};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        fd_ = static_cast<int>(
            ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &given));
    }
    /// spared: calls of these numbers that are let be before.
    void refuse(const std::vector<int> &numbers, int error, int spared = 0)
    {
        error_ = error;
        spared_ = spared;
        for (const int one : numbers)
            refused_[static_cast<size_t>(one)] = true;
    }
    void refuse_none()
    {
        for (auto &one : refused_)
            one = false;
    }
    std::vector<int> seen() const
    {
        std::vector<int> list;
        for (size_t i = 0; i < most; ++i)
            if (seen_[i])
                list.push_back(static_cast<int>(i));
        return list;
    }
    uint64_t refusals() const { return refusals_; }

private:
    [[noreturn]] void watch()
    {
        while (fd_ < 0) // a futex would need the thread that waits for this one
            ::sched_yield();
        for (;;) {
            seccomp_notif call{};
            if (::ioctl(fd_, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
                continue;
            seccomp_notif_resp answer{};
            answer.id = call.id;
            const auto one = static_cast<size_t>(call.data.nr);
            if (one < most && refused_[one] && spared_-- <= 0) {
                answer.error = -error_;
                refusals_++;
            } else {
                answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
            }
            if (one < most)
                seen_[one] = true;
            ::ioctl(fd_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        }
    }

    static constexpr size_t most = 512;
    std::atomic<int> fd_{-1};
    std::atomic<bool> refused_[most]{}, seen_[most]{};
    std::atomic<uint64_t> refusals_{0};
    std::atomic<int> error_{0}, spared_{0};
};

void limits(Life &life, const std::string &kind)
{
    const rlim_t none = RLIM_INFINITY;
    if (kind == "descriptors") {
        const auto used = static_cast<uint64_t>(::dup(0));
        ::close(static_cast<int>(used));
        until_it_opens(
            life, [](uint64_t n) { limit(RLIMIT_NOFILE, n); }, [] { limit(RLIMIT_NOFILE, 1024); }, used, 1,
            used + 64);
    } else if (kind == "memory") {
        until_it_opens(
            life, [](uint64_t n) { limit(RLIMIT_AS, address_space() + n); }, [] { limit(RLIMIT_AS, none); },
            0, 256 << 10, uint64_t{1} << 30);
    } else if (kind == "files") {
        until_it_opens(
            life, [](uint64_t n) { limit(RLIMIT_FSIZE, n); }, [] { limit(RLIMIT_FSIZE, none); }, 0, 4096,
            1 << 20);
        limit(RLIMIT_FSIZE, 64 << 10); // too little for channels of shared memory
        held_back = true;
        life.whole();
        limit(RLIMIT_FSIZE, none);
        say_now();
    } else if (kind == "allocations") {
        until_it_opens(
            life, [](uint64_t n) { allocations_left = static_cast<long>(n); }, [] { allocations_left = -1; },
            0, std::getenv("EMX_FULL") ? 1 : 11, 10000);
    } else if (kind == "threads") {
        static Filter filter;
        until_it_opens(
            life,
            [](uint64_t n) {
                if (n == 0)
                    filter.refuse({SYS_clone, SYS_clone3}, EAGAIN);
            },
            [] { filter.refuse_none(); }, 0, 1, 1);
    } else {
        wrong("no such kind of limit: ", kind.c_str());
    }
}

void list(Life &life)
{
    static Filter filter; // its watcher goes on
    life.whole();
    for (const int one : filter.seen())
        say("call %d\n", one);
}

void refuse(Life &life, int call, int error, const std::string &when)
{
    // A program that asks once in a microsecond, and never has enough, would ask far more often.
    constexpr uint64_t most = 200000;
    static Filter filter; // its watcher goes on
    const bool after = when == "after";
    const auto begin = [&] { filter.refuse({call}, error, std::atoi(when.c_str())); };
    if (!after)
        begin();
    if (life.open()) {
        life.connect();
        life.exchange();
        if (after)
            begin();
        life.exchange();
    }
    life.close();
    filter.refuse_none();
    if (filter.refusals() > most)
        wrong("it asks for ever");
}

} // namespace

int main(int count, char **words)
{
    const std::string how = count > 1 ? words[1] : "";
    if (how == "serve" && count == 3)
        serve(static_cast<uint32_t>(std::atoi(words[2])));
    const int options = how == "limits" || how == "slow" ? 1 : how == "gone" ? 2 : how == "refuse" ? 3 : 0;
    if (count < 2 + options)
        return 2;
    static Life life(words + 2 + options);
    if (how == "usual")
        life.whole();
    else if (how == "closed")
        closed(life);
    else if (how == "signals")
        signals(life);
    else if (how == "cancel")
        cancel(life);
    else if (how == "limits")
        limits(life, words[2]);
    else if (how == "gone")
        gone(life, words[2], std::strcmp(words[3], "send") == 0);
    else if (how == "slow")
        slow(life, std::atoi(words[2]));
    else if (how == "list")
        list(life);
    else if (how == "refuse" && (patience_ms = short_ms))
        refuse(life, std::atoi(words[2]), std::atoi(words[3]), words[4]);
    else
        return 2;
    if (something_wrong)
        ::_exit(2);
    say(something_failed ? "some calls failed\n" : "all went well\n");
    ::_exit(something_failed ? 1 : 0);
}
