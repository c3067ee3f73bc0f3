/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loses MXoE frames, our datagrams, and segments of our connections at random, at a rate that may be changed while it
 * runs, and if told so only those longer than a limit; other traffic passes.
 * Attached by netlab.sh to the ingress or egress of a host. At ingress it sits in front of packet
 * sockets bound to an EtherType, but behind those that take every protocol (captures).
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHERTYPE_MXOE 0x86df
#define PORT_FIRST 34527 /* UDP and TCP, of endpoint 0 */
#define PORT_LAST (PORT_FIRST + 255)

#define KEY_PERMILLE 0
#define KEY_LOST 1
#define KEY_LONGER 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} loss_map SEC(".maps");

static int is_our_port(__be16 port)
{
	return bpf_ntohs(port) >= PORT_FIRST && bpf_ntohs(port) <= PORT_LAST;
}

static int is_ours(struct __sk_buff *skb)
{
	__u8 protocol = 0;
	__be16 ports[2] = {0, 0}; /* source, destination */

	if (skb->protocol == bpf_htons(ETHERTYPE_MXOE))
		return 1;
	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, ETH_HLEN + 9, &protocol, 1) ||
	    (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + 20, ports, sizeof(ports)))
		return 0;
	return is_our_port(ports[1]) || (protocol == IPPROTO_TCP && is_our_port(ports[0]));
}

SEC("tc")
int drop(struct __sk_buff *skb)
{
	__u32 permille_key = KEY_PERMILLE, lost_key = KEY_LOST, longer_key = KEY_LONGER;
	__u64 *permille = bpf_map_lookup_elem(&loss_map, &permille_key);
	__u64 *lost = bpf_map_lookup_elem(&loss_map, &lost_key);
	__u64 *longer = bpf_map_lookup_elem(&loss_map, &longer_key);

	if (!permille || !lost || !longer || !is_ours(skb))
		return TC_ACT_OK;
	if (skb->len <= *longer)
		return TC_ACT_OK;
	if (bpf_get_prandom_u32() % 1000 >= *permille)
		return TC_ACT_OK;
	__sync_fetch_and_add(lost, 1);
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
