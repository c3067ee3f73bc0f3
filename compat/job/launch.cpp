// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Finds the nodes of a job, and the number of this one: by a list of hosts, or by the launcher.
#include "launch.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#ifdef JOB_PMIX
#include <pmix.h>
#endif

namespace job {

namespace {

constexpr uint32_t endpoint_most = 255;

/// A number up to `most`, whole.
bool read_number(const std::string &text, uint32_t most, uint32_t &value)
{
    char *end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || text[0] == '-' || *end || errno || number > most)
        return false;
    value = static_cast<uint32_t>(number);
    return true;
}

/// "host:board:endpoint"
std::string read_place(const std::string &hosts, const std::string &entry, Place &place)
{
    const std::size_t second = entry.rfind(':');
    const std::size_t first =
        second == std::string::npos || !second ? std::string::npos : entry.rfind(':', second - 1);
    if (first == std::string::npos || !read_number(entry.substr(second + 1), endpoint_most, place.endpoint))
        return hosts + ": \"" + entry + "\" is not HOST:BOARD:ENDPOINT";
    std::string board = entry.substr(0, second);
    if (mx_hostname_to_nic_id(board.data(), &place.nic_id) != MX_SUCCESS)
        return hosts + ": nobody knows a board \"" + board + "\"; omx_info lists those that are known";
    return {};
}

std::string read_list(const Terms &terms, const char *list, std::vector<Place> &places)
{
    const std::string hosts = terms.hosts;
    std::istringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
        places.emplace_back();
        if (std::string wrong = read_place(hosts, entry, places.back()); !wrong.empty())
            return wrong;
        for (std::size_t i = 0; i + 1 < places.size(); i++)
            if (places[i].nic_id == places.back().nic_id && places[i].endpoint == places.back().endpoint)
                return hosts + ": \"" + entry + "\" is there twice; give each node an endpoint of its own";
    }
    if (places.empty() || places.size() > terms.nodes_most)
        return hosts + ": name 1 to " + std::to_string(terms.nodes_most) + " nodes";
    return {};
}

std::string find_number(const Terms &terms, Options &options)
{
    const auto nodes = static_cast<uint32_t>(options.places.size());
    // The layer's own, and those in which launchers tell a process its number.
    for (const char *name : {terms.number, "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char *text = std::getenv(name)) {
            if (read_number(text, nodes - 1, options.node))
                return {};
            return std::string(name) + "=" + text + " is no node of " + terms.hosts + ", which names " +
                   std::to_string(nodes);
        }
    uint32_t own = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t board;
        if (mx_nic_id_to_board_number(options.places[i].nic_id, &board) == MX_SUCCESS) {
            options.node = i;
            own++;
        }
    }
    return own == 1 ? ""
                    : std::string(terms.hosts) + " names " + std::to_string(own) +
                          " nodes of this host; set " + terms.number + " to the number of this one, from 0";
}

std::string by_list(const Terms &terms, const char *list, Options &options)
{
    std::string wrong = read_list(terms, list, options.places);
    if (wrong.empty())
        wrong = find_number(terms, options);
    if (wrong.empty() &&
        mx_nic_id_to_board_number(options.places[options.node].nic_id, &options.board) != MX_SUCCESS)
        wrong = std::string(terms.hosts) + ": node " + std::to_string(options.node) +
                " is not on this host; check " + terms.number;
    return wrong;
}

#ifdef JOB_PMIX

std::string pmix_text(const Terms &terms, const char *what, pmix_status_t code)
{
    return std::string("PMIx cannot ") + what + ": " + PMIx_Error_string(code) + "; use " + terms.hosts +
           " instead";
}

/// Opens an endpoint and writes its place down for the others.
std::string publish(const Terms &terms, Options &options)
{
    mx_param_t parameter{};
    parameter.key = MX_PARAM_ERROR_HANDLER;
    parameter.val.error_handler = note_trouble;
    const mx_return_t code =
        mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, options.key, &parameter, 1, &options.endpoint);
    if (code != MX_SUCCESS)
        return std::string("no endpoint can be opened: ") + mx_strerror(code);
    mx_endpoint_addr_t address;
    Place place;
    mx_get_endpoint_addr(options.endpoint, &address);
    mx_decompose_endpoint_addr(address, &place.nic_id, &place.endpoint);
    char text[64];
    std::snprintf(text, sizeof text, "%llx %u", static_cast<unsigned long long>(place.nic_id),
                  place.endpoint);
    pmix_value_t value;
    value.type = PMIX_STRING;
    value.data.string = text;
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, terms.place_key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? "" : pmix_text(terms, "publish an address", status);
}

std::string look_up(const Terms &terms, const pmix_proc_t &self, uint32_t node, Place &place)
{
    pmix_proc_t proc = self;
    proc.rank = node;
    pmix_value_t *value = nullptr;
    const pmix_status_t status = PMIx_Get(&proc, terms.place_key, nullptr, 0, &value);
    if (status != PMIX_SUCCESS || !value || value->type != PMIX_STRING)
        return pmix_text(terms, "find an address", status);
    unsigned long long nic = 0;
    const bool good = std::sscanf(value->data.string, "%llx %u", &nic, &place.endpoint) == 2;
    place.nic_id = nic;
    PMIX_VALUE_RELEASE(value);
    return good ? "" : "the address of node " + std::to_string(node) + " is no address";
}

std::string meet(const Terms &terms, const pmix_proc_t &self, Options &options)
{
    pmix_proc_t all = self;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t *size = nullptr;
    pmix_status_t status = PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &size);
    if (status != PMIX_SUCCESS || !size)
        return pmix_text(terms, "tell the size of the job", status);
    const uint32_t nodes = size->data.uint32;
    PMIX_VALUE_RELEASE(size);
    if (nodes == 0 || nodes > terms.nodes_most)
        return "a job has 1 to " + std::to_string(terms.nodes_most) + " nodes";
    options.node = self.rank;
    options.places.resize(nodes);
    std::string wrong = publish(terms, options);
    if (!wrong.empty())
        return wrong;
    bool collect = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    status = PMIx_Fence(&all, 1, &info, 1);
    if (status != PMIX_SUCCESS)
        return pmix_text(terms, "meet the other nodes", status);
    for (uint32_t i = 0; i < nodes && wrong.empty(); i++)
        wrong = look_up(terms, self, i, options.places[i]);
    return wrong;
}

std::string by_launcher(const Terms &terms, Options &options)
{
    pmix_proc_t self;
    const pmix_status_t status = PMIx_Init(&self, nullptr, 0);
    if (status != PMIX_SUCCESS)
        return pmix_text(terms, "be reached", status);
    std::string wrong = meet(terms, self, options);
    PMIx_Finalize(nullptr, 0);
    if (!wrong.empty() && options.endpoint)
        mx_close_endpoint(options.endpoint);
    return wrong;
}

#endif

} // namespace

std::string find(const Terms &terms, Options &options)
{
    if (const char *list = std::getenv(terms.hosts))
        return by_list(terms, list, options);
#ifdef JOB_PMIX
    if (std::getenv("PMIX_NAMESPACE"))
        return by_launcher(terms, options);
#endif
    return std::string("no job; start the program by mpirun, or set ") + terms.hosts +
           "=HOST:BOARD:ENDPOINT,... for all nodes and " + terms.number + " to the number of this one (" +
           terms.manual + ")";
}

} // namespace job
