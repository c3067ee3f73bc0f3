// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A DMA engine made of software, for tests: copies memory late, in an order of its own across
 * channels, refuses work, fails, or stops for a while, as its parameters say.
 *
 * It knows memory by its physical address, so it only works where the DMA mapping is direct.
 */
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#define CHANNELS 4

static unsigned int delay_us = 100;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us,
		 "a copy is done so long after it was submitted, at random up to twice that");

static unsigned int fail_every;
module_param(fail_every, uint, 0644);
MODULE_PARM_DESC(fail_every, "one copy in so many is not done, and reported as failed (0: none)");

static unsigned int refuse_every;
module_param(refuse_every, uint, 0644);
MODULE_PARM_DESC(refuse_every, "one descriptor in so many is not to be had (0: none)");

static bool stopped;
module_param(stopped, bool, 0644);
MODULE_PARM_DESC(stopped, "nothing is copied as long as this is set");

static atomic_t waiting_jobs;

static int get_waiting(char *text, const struct kernel_param *parameter)
{
	return sysfs_emit(text, "%d\n", atomic_read(&waiting_jobs));
}

static const struct kernel_param_ops waiting_ops = { .get = get_waiting };
module_param_cb(waiting, &waiting_ops, NULL, 0444);
MODULE_PARM_DESC(waiting, "copies that were submitted and are not done");

static atomic_t asked;
static atomic_t copied;

struct job {
	struct dma_async_tx_descriptor tx;
	struct list_head list;
	dma_addr_t to;
	dma_addr_t from;
	size_t bytes;
};

struct channel {
	struct dma_chan chan;
	spinlock_t lock; /* of the lists and cookies */
	struct list_head submitted;
	struct list_head issued;
	struct delayed_work work;
};

static struct dma_device engine;
static struct channel channels[CHANNELS];

static bool one_in(atomic_t *counter, unsigned int n)
{
	return n && (unsigned int)atomic_inc_return(counter) % n == 0;
}

static unsigned long pause(void)
{
	u32 us = READ_ONCE(delay_us);

	return usecs_to_jiffies(us + get_random_u32() % (us + 1));
}

static struct channel *of(struct dma_chan *chan)
{
	return container_of(chan, struct channel, chan);
}

static struct job *next_job(struct channel *c)
{
	struct job *job;

	spin_lock_bh(&c->lock);
	job = list_first_entry_or_null(&c->issued, struct job, list);
	if (job)
		list_del(&job->list);
	spin_unlock_bh(&c->lock);
	return job;
}

static void finish(struct channel *c, struct job *job)
{
	struct dmaengine_result result = { .result = DMA_TRANS_NOERROR };

	if (one_in(&copied, READ_ONCE(fail_every))) {
		/* A broken engine may leave this. */
		memset(phys_to_virt(job->to), 0xee, job->bytes);
		result.result = DMA_TRANS_WRITE_FAILED;
	} else {
		memcpy(phys_to_virt(job->to), phys_to_virt(job->from), job->bytes);
	}
	spin_lock_bh(&c->lock);
	c->chan.completed_cookie = job->tx.cookie;
	spin_unlock_bh(&c->lock);
	atomic_dec(&waiting_jobs);
	dma_descriptor_unmap(&job->tx);
	local_bh_disable(); /* as from the tasklet of a driver */
	if (job->tx.callback_result)
		job->tx.callback_result(job->tx.callback_param, &result);
	else if (job->tx.callback)
		job->tx.callback(job->tx.callback_param);
	local_bh_enable();
	kfree(job);
}

static void run(struct work_struct *work)
{
	struct channel *c = container_of(to_delayed_work(work), struct channel, work);
	struct job *job;

	if (!READ_ONCE(stopped)) {
		while ((job = next_job(c)))
			finish(c, job);
		return;
	}
	schedule_delayed_work(&c->work, 1);
}

static dma_cookie_t submit(struct dma_async_tx_descriptor *tx)
{
	struct channel *c = of(tx->chan);
	struct job *job = container_of(tx, struct job, tx);

	spin_lock_bh(&c->lock);
	tx->cookie = c->chan.cookie + 1 < DMA_MIN_COOKIE ? DMA_MIN_COOKIE : c->chan.cookie + 1;
	c->chan.cookie = tx->cookie;
	list_add_tail(&job->list, &c->submitted);
	spin_unlock_bh(&c->lock);
	atomic_inc(&waiting_jobs);
	return tx->cookie;
}

static struct dma_async_tx_descriptor *prepare(struct dma_chan *chan, dma_addr_t to,
					       dma_addr_t from, size_t bytes, unsigned long flags)
{
	struct job *job;

	if (one_in(&asked, READ_ONCE(refuse_every)))
		return NULL;
	job = kzalloc(sizeof(*job), GFP_ATOMIC);
	if (!job)
		return NULL;
	dma_async_tx_descriptor_init(&job->tx, chan);
	job->tx.tx_submit = submit;
	job->tx.flags = flags;
	job->to = to;
	job->from = from;
	job->bytes = bytes;
	return &job->tx;
}

static void issue(struct dma_chan *chan)
{
	struct channel *c = of(chan);

	spin_lock_bh(&c->lock);
	list_splice_tail_init(&c->submitted, &c->issued);
	spin_unlock_bh(&c->lock);
	schedule_delayed_work(&c->work, pause());
}

static enum dma_status status(struct dma_chan *chan, dma_cookie_t cookie,
			      struct dma_tx_state *state)
{
	return dma_async_is_complete(cookie, chan->completed_cookie, chan->cookie);
}

static int alloc_channel(struct dma_chan *chan)
{
	return 1;
}

static void free_channel(struct dma_chan *chan)
{
	cancel_delayed_work_sync(&of(chan)->work);
}

static void add_channel(struct channel *c)
{
	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->submitted);
	INIT_LIST_HEAD(&c->issued);
	INIT_DELAYED_WORK(&c->work, run);
	c->chan.device = &engine;
	c->chan.cookie = DMA_MIN_COOKIE;
	c->chan.completed_cookie = DMA_MIN_COOKIE;
	list_add_tail(&c->chan.device_node, &engine.channels);
}

static bool registered;

static int probe(struct platform_device *device)
{
	int i;
	int err = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));

	if (err)
		return err;
	engine.dev = &device->dev;
	INIT_LIST_HEAD(&engine.channels);
	dma_cap_set(DMA_MEMCPY, engine.cap_mask);
	engine.device_alloc_chan_resources = alloc_channel;
	engine.device_free_chan_resources = free_channel;
	engine.device_prep_dma_memcpy = prepare;
	engine.device_issue_pending = issue;
	engine.device_tx_status = status;
	for (i = 0; i < CHANNELS; i++)
		add_channel(&channels[i]);
	err = dma_async_device_register(&engine);
	registered = !err;
	return err;
}

static struct platform_driver driver = {
	.driver = { .name = "softdma" },
	.probe = probe,
};

static struct platform_device *device;

static int __init softdma_init(void)
{
	int err = platform_driver_register(&driver);

	if (err)
		return err;
	device = platform_device_register_simple("softdma", -1, NULL, 0);
	if (!IS_ERR(device) && registered)
		return 0;
	if (!IS_ERR(device))
		platform_device_unregister(device);
	platform_driver_unregister(&driver);
	return PTR_ERR_OR_ZERO(device) ?: -ENODEV;
}

/* Not by a function of the driver: what those return depends on the kernel's version. */
static void __exit softdma_exit(void)
{
	dma_async_device_unregister(&engine);
	platform_device_unregister(device);
	platform_driver_unregister(&driver);
}

module_init(softdma_init);
module_exit(softdma_exit);

MODULE_DESCRIPTION("A DMA engine made of software, for tests");
MODULE_AUTHOR("The EtherMX authors");
MODULE_LICENSE("Dual BSD/GPL");
