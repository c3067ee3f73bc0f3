// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Which nodes a job has, and which one this is: by a list of hosts, or by the launcher (fm(3)).
#include "api.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#ifdef FM_PMIX
#include <pmix.h>
#endif

namespace fm {

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
std::string read_place(const std::string &entry, Place &place)
{
    const std::size_t second = entry.rfind(':');
    const std::size_t first =
        second == std::string::npos || !second ? std::string::npos : entry.rfind(':', second - 1);
    if (first == std::string::npos || !read_number(entry.substr(second + 1), endpoint_most, place.endpoint))
        return "FM_HOSTS: \"" + entry + "\" is not HOST:BOARD:ENDPOINT";
    std::string board = entry.substr(0, second);
    if (mx_hostname_to_nic_id(board.data(), &place.nic_id) != MX_SUCCESS)
        return "FM_HOSTS: nobody knows a board \"" + board + "\"; omx_info lists those that are known";
    return {};
}

std::string read_list(const char *list, std::vector<Place> &places)
{
    std::istringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
        places.emplace_back();
        if (std::string wrong = read_place(entry, places.back()); !wrong.empty())
            return wrong;
        for (std::size_t i = 0; i + 1 < places.size(); i++)
            if (places[i].nic_id == places.back().nic_id && places[i].endpoint == places.back().endpoint)
                return "FM_HOSTS: \"" + entry + "\" is there twice; give each node an endpoint of its own";
    }
    if (places.empty() || places.size() > nodes_max)
        return "FM_HOSTS: name 1 to " + std::to_string(nodes_max) + " nodes";
    return {};
}

/// The variables in which launchers tell a process its number.
constexpr const char *number_variables[] = {"FM_NODE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID"};

std::string find_number(Options &options)
{
    const auto nodes = static_cast<uint32_t>(options.places.size());
    for (const char *name : number_variables)
        if (const char *text = std::getenv(name)) {
            if (read_number(text, nodes - 1, options.node))
                return {};
            return std::string(name) + "=" + text + " is no node of FM_HOSTS, which names " +
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
                    : "FM_HOSTS names " + std::to_string(own) +
                          " nodes of this host; set FM_NODE to the number of this one, from 0";
}

std::string by_list(const char *list, Options &options)
{
    std::string wrong = read_list(list, options.places);
    if (wrong.empty())
        wrong = find_number(options);
    if (wrong.empty() &&
        mx_nic_id_to_board_number(options.places[options.node].nic_id, &options.board) != MX_SUCCESS)
        wrong = "FM_HOSTS: node " + std::to_string(options.node) + " is not on this host; check FM_NODE";
    return wrong;
}

#ifdef FM_PMIX

constexpr const char place_key[] = "ethermx.fm.place";

std::string pmix_text(const char *what, pmix_status_t code)
{
    return std::string("PMIx cannot ") + what + ": " + PMIx_Error_string(code) + "; use FM_HOSTS instead";
}

/// Opens an endpoint and writes its place down for the others.
std::string publish(Options &options)
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
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, place_key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? "" : pmix_text("publish an address", status);
}

std::string look_up(const pmix_proc_t &self, uint32_t node, Place &place)
{
    pmix_proc_t proc = self;
    proc.rank = node;
    pmix_value_t *value = nullptr;
    const pmix_status_t status = PMIx_Get(&proc, place_key, nullptr, 0, &value);
    if (status != PMIX_SUCCESS || !value || value->type != PMIX_STRING)
        return pmix_text("find an address", status);
    unsigned long long nic = 0;
    const bool good = std::sscanf(value->data.string, "%llx %u", &nic, &place.endpoint) == 2;
    place.nic_id = nic;
    PMIX_VALUE_RELEASE(value);
    return good ? "" : "the address of node " + std::to_string(node) + " is no address";
}

std::string meet(const pmix_proc_t &self, Options &options)
{
    pmix_proc_t all = self;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t *size = nullptr;
    pmix_status_t status = PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &size);
    if (status != PMIX_SUCCESS || !size)
        return pmix_text("tell the size of the job", status);
    const uint32_t nodes = size->data.uint32;
    PMIX_VALUE_RELEASE(size);
    if (nodes == 0 || nodes > nodes_max)
        return "a job has 1 to " + std::to_string(nodes_max) + " nodes";
    options.node = self.rank;
    options.places.resize(nodes);
    std::string wrong = publish(options);
    if (!wrong.empty())
        return wrong;
    bool collect = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    status = PMIx_Fence(&all, 1, &info, 1);
    if (status != PMIX_SUCCESS)
        return pmix_text("meet the other nodes", status);
    for (uint32_t i = 0; i < nodes && wrong.empty(); i++)
        wrong = look_up(self, i, options.places[i]);
    return wrong;
}

std::string by_launcher(Options &options)
{
    pmix_proc_t self;
    const pmix_status_t status = PMIx_Init(&self, nullptr, 0);
    if (status != PMIX_SUCCESS)
        return pmix_text("be reached", status);
    std::string wrong = meet(self, options);
    PMIx_Finalize(nullptr, 0);
    if (!wrong.empty() && options.endpoint)
        mx_close_endpoint(options.endpoint);
    return wrong;
}

#endif

} // namespace

std::string find_job(Options &options)
{
    if (const char *list = std::getenv("FM_HOSTS"))
        return by_list(list, options);
#ifdef FM_PMIX
    if (std::getenv("PMIX_NAMESPACE"))
        return by_launcher(options);
#endif
    return "no job; start the program by mpirun, or set FM_HOSTS=HOST:BOARD:ENDPOINT,... for all nodes and "
           "FM_NODE "
           "to the number of this one (fm(3))";
}

} // namespace fm
