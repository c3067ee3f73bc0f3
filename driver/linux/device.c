// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * /dev/ethermx: files, their ioctls, mapping and polling. Structures are copied here, in and out;
 * the functions that do the work see copies only.
 */
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "board.h"
#include "compat.h"
#include "control.h"
#include "endpoint.h"
#include "names.h"

/* Between two looks whether the process is to end, or another to run. */
#define SUBMIT_BATCH 64

struct emx_file {
	struct mutex lock; /* of claiming */
	struct emx_endpoint *ep; /* set once, published with release */
};

static struct net *emx_device_net(void)
{
	return current->nsproxy->net_ns;
}

static struct emx_endpoint *emx_device_endpoint_of(const struct file *file)
{
	struct emx_file *own = file->private_data;

	return smp_load_acquire(&own->ep); /* pairs with emx_device_ioctl_claim() */
}

/* ---- endpoints ---- */

/* The endpoint for a command: only its own process has the addresses that commands contain. */
static struct emx_endpoint *emx_device_own_endpoint(const struct file *file)
{
	struct emx_endpoint *ep = emx_device_endpoint_of(file);

	if (!ep)
		return ERR_PTR(-EBADFD);
	if (ep->mm != current->mm)
		return ERR_PTR(-EPERM);
	return ep;
}

static long emx_device_ioctl_claim(struct file *file, void __user *arg)
{
	struct emx_file *own = file->private_data;
	struct emx_dev_claim claim;
	struct emx_endpoint *ep;
	long err = 0;

	if (copy_from_user(&claim, arg, sizeof(claim)))
		return -EFAULT;
	mutex_lock(&own->lock);
	if (own->ep) {
		err = -EEXIST;
		goto out;
	}
	ep = emx_endpoint_claim(emx_device_net(), &claim);
	if (IS_ERR(ep)) {
		err = PTR_ERR(ep);
		goto out;
	}
	smp_store_release(&own->ep, ep); /* pairs with emx_device_endpoint_of() */
out:
	mutex_unlock(&own->lock);
	if (!err && copy_to_user(arg, &claim, sizeof(claim)))
		return -EFAULT; /* the file is an endpoint all the same, until it is closed */
	return err;
}

/* EAGAIN: not executed, because it might have to wait. */
static int emx_device_command(struct file *file, const void __user *from, bool may_wait)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);
	struct emx_dev_command command EMX_NO_INIT;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (copy_from_user(&command, from, sizeof(command)))
		return -EFAULT;
	if (!may_wait && emx_command_waits(&command))
		return -EAGAIN;
	return emx_command(ep, &command);
}

static int emx_device_submit_one(struct emx_endpoint *ep, struct emx_dev_command __user *from)
{
	struct emx_dev_command command;

	if (copy_from_user(&command, from, sizeof(command)))
		return -EFAULT;
	return put_user(emx_command(ep, &command), &from->result);
}

static long emx_device_ioctl_submit(struct file *file, void __user *arg)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);
	struct emx_dev_command __user *list;
	struct emx_dev_submit submit;
	int err = 0;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (copy_from_user(&submit, arg, sizeof(submit)))
		return -EFAULT;
	list = u64_to_user_ptr(submit.commands);
	for (submit.done = 0; submit.done < submit.count && !err; submit.done++) {
		if (submit.done % SUBMIT_BATCH == SUBMIT_BATCH - 1) {
			if (fatal_signal_pending(current))
				break;
			cond_resched();
		}
		err = emx_device_submit_one(ep, list + submit.done);
		if (err)
			break;
	}
	if (copy_to_user(arg, &submit, sizeof(submit)))
		return -EFAULT;
	return err;
}

static long emx_device_ioctl_poll(struct file *file, void __user *arg)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);
	struct emx_dev_poll poll;
	int err;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (copy_from_user(&poll, arg, sizeof(poll)))
		return -EFAULT;
	err = emx_poll(ep, &poll);
	if (err)
		return err;
	return copy_to_user(arg, &poll, sizeof(poll)) ? -EFAULT : 0;
}

static long emx_device_ioctl_wait(struct file *file, void __user *arg)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);
	struct emx_dev_wait wait EMX_NO_INIT;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (copy_from_user(&wait, arg, sizeof(wait)))
		return -EFAULT;
	return emx_wait(ep, &wait);
}

static long emx_device_ioctl_wake(struct file *file)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	emx_wake(ep);
	return 0;
}

/* ---- questions ---- */

static long emx_device_ioctl_version(void __user *arg)
{
	const struct emx_dev_version version = {
		.version = EMX_DEV_VERSION,
		.oldest = EMX_DEV_OLDEST,
		.abi = EMX_ABI_VERSION,
		.features = EMX_DEV_PACKS,
	};

	return copy_to_user(arg, &version, sizeof(version)) ? -EFAULT : 0;
}

static int emx_device_keep_peer(struct file *file, const struct emx_dev_peer *peer)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	if (peer->by == EMX_DEV_PEER_RELEASE)
		return emx_peer_release(ep, peer->index);
	return emx_peer_keep(ep, peer->index, peer->mac);
}

static long emx_device_ioctl_peer(struct file *file, void __user *arg)
{
	struct emx_endpoint *ep = emx_device_endpoint_of(file);
	struct emx_board *board = NULL;
	struct emx_dev_peer peer;
	int err;

	if (copy_from_user(&peer, arg, sizeof(peer)))
		return -EFAULT;
	if (peer.by == EMX_DEV_PEER_KEEP || peer.by == EMX_DEV_PEER_RELEASE)
		return emx_device_keep_peer(file, &peer);
	if (!ep) {
		board = emx_board_get(emx_device_net(), peer.board);
		if (!board)
			return -ENODEV;
	}
	err = emx_peer(ep ? ep->board : board, &peer);
	if (board)
		emx_board_put(board);
	if (err)
		return err;
	return copy_to_user(arg, &peer, sizeof(peer)) ? -EFAULT : 0;
}

/* An ioctl that concerns the namespace of the caller: its structure goes in, and out again. */
/* clang-format off */
#define EMX_DEVICE_NET_IOCTL(name, type)                                              \
	static long emx_device_ioctl_##name(void __user *arg)                          \
	{                                                                   \
		struct type request;                                        \
		int err;                                                    \
									    \
		if (copy_from_user(&request, arg, sizeof(request)))         \
			return -EFAULT;                                     \
		err = emx_admin_##name(emx_device_net(), &request);             \
		if (err)                                                    \
			return err;                                         \
		return copy_to_user(arg, &request, sizeof(request)) ? -EFAULT : 0; \
	}
/* clang-format on */

EMX_DEVICE_NET_IOCTL(board, emx_dev_board)
EMX_DEVICE_NET_IOCTL(endpoint, emx_dev_endpoint)
EMX_DEVICE_NET_IOCTL(counters, emx_dev_counters)
EMX_DEVICE_NET_IOCTL(names, emx_dev_names)
EMX_DEVICE_NET_IOCTL(peers, emx_dev_peers)
EMX_DEVICE_NET_IOCTL(attach, emx_dev_attach)
EMX_DEVICE_NET_IOCTL(detach, emx_dev_detach)

/* ---- the file ---- */

static int emx_device_open(struct inode *inode, struct file *file)
{
	struct emx_file *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return -ENOMEM;
	mutex_init(&own->lock);
	file->private_data = own;
	return nonseekable_open(inode, file);
}

/* Runs whenever a process closes a copy of the file, also by its end. */
static int emx_device_flush(struct file *file, fl_owner_t id)
{
	struct emx_endpoint *ep = emx_device_endpoint_of(file);

	if (ep && ep->tgid == current->tgid)
		emx_endpoint_close(ep);
	return 0;
}

static int emx_device_release(struct inode *inode, struct file *file)
{
	struct emx_file *own = file->private_data;

	if (own->ep) {
		emx_endpoint_close(own->ep);
		emx_endpoint_free(own->ep);
	}
	kfree(own);
	return 0;
}

static long emx_device_ioctl(struct file *file, unsigned int cmd, unsigned long value)
{
	void __user *arg = (void __user *)value;

	/* Commands of each message come first; a switch would become a search. */
	if (likely(cmd == EMX_IOC_COMMAND))
		return emx_device_command(file, arg, true);
	if (cmd == EMX_IOC_WAIT)
		return emx_device_ioctl_wait(file, arg);
	switch (cmd) {
	case EMX_IOC_SUBMIT:
		return emx_device_ioctl_submit(file, arg);
	case EMX_IOC_WAKE:
		return emx_device_ioctl_wake(file);
	case EMX_IOC_POLL:
		return emx_device_ioctl_poll(file, arg);
	case EMX_IOC_VERSION:
		return emx_device_ioctl_version(arg);
	case EMX_IOC_BOARD:
		return emx_device_ioctl_board(arg);
	case EMX_IOC_CLAIM:
		return emx_device_ioctl_claim(file, arg);
	case EMX_IOC_PEER:
		return emx_device_ioctl_peer(file, arg);
	case EMX_IOC_PEERS:
		return emx_device_ioctl_peers(arg);
	case EMX_IOC_NAMES:
		return emx_device_ioctl_names(arg);
	case EMX_IOC_COUNTERS:
		return emx_device_ioctl_counters(arg);
	case EMX_IOC_ENDPOINT:
		return emx_device_ioctl_endpoint(arg);
	case EMX_IOC_ATTACH:
		return emx_device_ioctl_attach(arg);
	case EMX_IOC_DETACH:
		return emx_device_ioctl_detach(arg);
	default:
		return -ENOTTY;
	}
}

/*
 * Whoever executes it has the program's address space: its own thread, or one that io_uring made.
 * What may wait is refused at first, and comes again by such a thread, with a copy of what was in
 * the SQE. Every command has ended on return: there is never one to cancel.
 */
static int emx_device_uring_cmd(struct io_uring_cmd *cmd, unsigned int flags)
{
	const struct emx_dev_uring *given = emx_uring_payload(cmd);
	u64 command = READ_ONCE(given->command);
	int err;

	if (cmd->cmd_op != EMX_IOC_COMMAND)
		return -ENOTTY;
	if (READ_ONCE(given->reserved) || cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	err = emx_device_command(cmd->file, u64_to_user_ptr(command),
				 !(flags & IO_URING_F_NONBLOCK));
	if (err != -EAGAIN)
		atomic64_inc(&emx_uring_commands);
	return err;
}

static int emx_device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct emx_endpoint *ep = emx_device_own_endpoint(file);

	return IS_ERR(ep) ? PTR_ERR(ep) : emx_endpoint_map(ep, vma);
}

static __poll_t emx_device_poll(struct file *file, poll_table *table)
{
	struct emx_endpoint *ep = emx_device_endpoint_of(file);

	if (!ep)
		return EPOLLERR;
	poll_wait(file, &ep->wait, table);
	smp_mb(); /* pairs with the one in wq_has_sleeper() */
	if (!READ_ONCE(ep->open))
		return EPOLLHUP;
	return READ_ONCE(ep->head) != READ_ONCE(ep->ring->tail) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations emx_device_fops = {
	.owner = THIS_MODULE,
	.open = emx_device_open,
	.flush = emx_device_flush,
	.release = emx_device_release,
	.unlocked_ioctl = emx_device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = emx_device_uring_cmd,
	.mmap = emx_device_mmap,
	.poll = emx_device_poll,
};

/*
 * /sys/class/misc/ethermx/boards: how many there are, in all network namespaces, for who wants to
 * unload the module and harm nobody.
 */
static ssize_t emx_device_show_boards(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", emx_boards_count());
}

static struct device_attribute emx_device_boards =
	__ATTR(boards, 0444, emx_device_show_boards, NULL);

static struct attribute *emx_device_attrs[] = {
	&emx_device_boards.attr,
	NULL,
};
ATTRIBUTE_GROUPS(emx_device);

static struct miscdevice emx_device_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &emx_device_fops,
	.mode = 0666,
	.groups = emx_device_groups,
};

int emx_device_add(void)
{
	return misc_register(&emx_device_misc);
}

void emx_device_remove(void)
{
	misc_deregister(&emx_device_misc);
}
