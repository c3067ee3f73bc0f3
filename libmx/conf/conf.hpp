// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Every tunable, in one table: environment names, default, unit, meaning, where the value came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace emx {

/// Values in force. OMX_* and MX_* names follow the API specification, section 9; EMX_* are ours.
struct Conf {
    // names that users of MX and Open-MX know
    int disable_self = 0;
    int disable_shared = 0;
    int rndv_threshold = 32768; ///< bytes; longer sends go by rendezvous
    int shared_rndv_threshold = 0; ///< bytes, to endpoints of this host; 0: rndv_threshold
    int resends_max = 1000; ///< periods of 0.5 s before a peer is declared unreachable
    int zombies_max = 512; ///< sends complete before their ack, per endpoint
    int notacked_max = 4; ///< messages taken before an ack goes out at once
    int wait_spin = 0;
    int wait_interruptible = 0;
    int connect_pollall = 0;
    int fatal_errors = 1;
    int any_endpoint = 0;
    int verbose = 0;
    std::string verbose_prefix = "OMX: ";
    int abort_sleeps = 0; ///< seconds
    std::string process_binding;
    int ignore_mx_env = 0;
    int context_bits = 0;
    int context_shift = 0;
    // ours
    int window_frames = 32; ///< unacknowledged eager frames per partner
    int partners_max = 262144; ///< remote endpoints that an endpoint knows at most
    int resend_ms = 50; ///< first resend; doubles up to 500
    int ack_delay_ms = 16;
    int helper_ms = 5; ///< application away for so long: the helper thread steps in; 0 = no helper
    int spin_us = 50; ///< blocking calls spin that long before they sleep
    int busy_poll_us = 10; ///< one busy poll of a network card, by a spinning program; 0 = never
    int yield_after = 500; ///< empty polls before the core is offered to others; 0 = never
    int extension = 1; ///< offer the EtherMX extension, and agree to it
    int pack_after = 4; ///< unacknowledged frames beyond which short messages may share one; 0 = never
    int pack_longest = 2048; ///< bytes of a message that may
    int checksum = 0; ///< wish for checksums of payloads, and send them
    int linger_ms = 1000; ///< close waits that long for acks of sends reported complete
    int endpoints_max = 32;
    std::string device = "auto"; ///< auto, kernel, engine
    std::string commands = "auto"; ///< to the kernel module: auto, ioctl, uring
    std::string bulk = "auto"; ///< large messages of the engine: auto, raw, udp
    std::string boards;
    std::string peers_file;
    std::string group;
    std::string agent;
    std::string trace; ///< files of this name and more record what endpoints do; empty: none
    int trace_entries = 65536;
};

struct ConfRow {
    std::string name;
    std::string value;
    std::string unit;
    std::string source; ///< "default" or the variable it came from
    std::string help;
};

/// Reads variables by name; nullptr when unset.
using Environment = std::function<const char *(const char *)>;

/// Fills conf from the environment. Nonsense in MX_*/OMX_* variables counts as 0 or the default, as the
/// API specification wants; nonsense in EMX_* gives a sentence in `error` and false.
bool load_conf(Conf &conf, const Environment &environment, std::string &error);

/// The table for omx_info -c, values as load_conf gives them; then the names that have no
/// effect, with the reason, and the EMX_* names of `names` that nobody reads (usual cause: a typing
/// error), with source "unknown".
std::vector<ConfRow> conf_rows(const Environment &environment, const std::vector<std::string> &names);

} // namespace emx
