// SPDX-License-Identifier: GPL-2.0
/*
 * Captures: every packet that crosses a link, once, as a stream in pcap format
 *
 * The link type is ERF, whose records say that an InfiniBand packet follows:
 * the type that pcap has for InfiniBand itself is not read by Wireshark.
 *
 * Every open of debugfs' softib/capture is a capture of its own, with a queue
 * of clones of packets. While there is none it costs a static branch.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "capture.h"
#include "softib.h"

#define CAPTURE_LIMIT	(32 << 20)	/* bytes that wait for a slow reader */

#define PCAP_MAGIC_NS	0xa1b23c4d	/* time stamps in nanoseconds */
#define PCAP_ERF	197

#define ERF_INFINIBAND	21		/* from the LRH to the VCRC */
#define ERF_VARYING	0x04		/* record length varies */

struct pcap_header {
	u32 magic;
	u16 version_major;
	u16 version_minor;
	u32 reserved[2];
	u32 snaplen;
	u32 linktype;
};

struct erf_record {
	__le32 fraction;	/* of a second, in units of 2^-32 */
	__le32 sec;
	u8 type;
	u8 flags;
	__be16 len;		/* with this header */
	__be16 lost;
	__be16 wire_len;
};

struct pcap_record {
	u32 sec;
	u32 nsec;
	u32 caplen;
	u32 len;
	struct erf_record erf;
};

/**
 * struct capture - an open capture
 * @list:	in captures, under capture_lock
 * @queue:	packets that wait to be read
 * @size:	memory that they take, under @queue.lock
 * @wait:	readers that wait for a packet
 * @read_lock:	protects all that follows
 * @head:	what goes before @skb in the stream
 * @head_len:	how much of it is used
 * @skb:	the packet that is being read, or NULL
 * @pos:	how much of @head and @skb has been read
 * @left:	how much has not; poll reads it without the lock
 */
struct capture {
	struct list_head list;
	struct sk_buff_head queue;
	size_t size;
	wait_queue_head_t wait;

	struct mutex read_lock;	/* see above */
	union {
		struct pcap_header file;
		struct pcap_record record;
	} head;
	size_t head_len;
	struct sk_buff *skb;
	size_t pos;
	size_t left;
};

DEFINE_STATIC_KEY_FALSE(softib_capture_key);

static DEFINE_SPINLOCK(capture_lock);	/* protects the list */
static LIST_HEAD(captures);
static atomic_t capture_dropped;

static void enqueue(struct capture *capture, struct sk_buff *skb)
{
	struct sk_buff *copy = NULL;
	unsigned long flags;
	bool was_empty;

	spin_lock_irqsave(&capture->queue.lock, flags);
	if (capture->size + skb->truesize <= CAPTURE_LIMIT)
		copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy) {
		spin_unlock_irqrestore(&capture->queue.lock, flags);
		atomic_inc(&capture_dropped);
		return;
	}
	copy->tstamp = ktime_get_real();
	capture->size += copy->truesize;
	was_empty = skb_queue_empty(&capture->queue);
	__skb_queue_tail(&capture->queue, copy);
	spin_unlock_irqrestore(&capture->queue.lock, flags);
	if (was_empty)
		wake_up_interruptible(&capture->wait);
}

/* Called with bottom halves disabled. */
void __softib_capture(struct sk_buff *skb)
{
	struct capture *capture;

	softib_cb(skb)->captured = true;
	spin_lock(&capture_lock);
	list_for_each_entry(capture, &captures, list)
		enqueue(capture, skb);
	spin_unlock(&capture_lock);
}

static void set_record_head(struct capture *capture)
{
	struct timespec64 ts = ktime_to_timespec64(capture->skb->tstamp);
	u32 len = capture->skb->len + sizeof(struct erf_record);

	capture->head_len = sizeof(capture->head.record);
	capture->head.record = (struct pcap_record) {
		.sec = ts.tv_sec,
		.nsec = ts.tv_nsec,
		.caplen = len,
		.len = len,
		.erf = {
			.fraction = cpu_to_le32(div_u64((u64)ts.tv_nsec << 32,
							NSEC_PER_SEC)),
			.sec = cpu_to_le32(ts.tv_sec),
			.type = ERF_INFINIBAND,
			.flags = ERF_VARYING,
			.len = cpu_to_be16(len),
			.wire_len = cpu_to_be16(capture->skb->len),
		},
	};
}

/* Have something to read, if there is anything. */
static bool next_record(struct capture *capture)
{
	unsigned long flags;

	if (capture->left)
		return true;
	consume_skb(capture->skb);
	spin_lock_irqsave(&capture->queue.lock, flags);
	capture->skb = __skb_dequeue(&capture->queue);
	if (capture->skb)
		capture->size -= capture->skb->truesize;
	spin_unlock_irqrestore(&capture->queue.lock, flags);
	if (!capture->skb)
		return false;

	set_record_head(capture);
	capture->pos = 0;
	WRITE_ONCE(capture->left, capture->head_len + capture->skb->len);
	return true;
}

static ssize_t copy_record(struct capture *capture, char __user *buf,
			   size_t count)
{
	size_t done = 0, n;

	while (capture->left && done < count) {
		const void *from = (char *)&capture->head + capture->pos;

		n = capture->left;
		if (capture->pos < capture->head_len)
			n = capture->head_len - capture->pos;
		else
			from = capture->skb->data +
			       capture->pos - capture->head_len;
		n = min(n, count - done);
		if (copy_to_user(buf + done, from, n))
			return -EFAULT;
		done += n;
		capture->pos += n;
		WRITE_ONCE(capture->left, capture->left - n);
	}
	return done;
}

static bool readable(struct capture *capture)
{
	return READ_ONCE(capture->left) ||
	       !skb_queue_empty_lockless(&capture->queue);
}

/*
 * A read returns whole records, unless not even one fits: so a program that copies the stream may
 * stop, or be stopped, at any moment.
 */
static ssize_t capture_read(struct file *file, char __user *buf, size_t count,
			    loff_t *ppos)
{
	struct capture *capture = file->private_data;
	ssize_t done = 0, ret;

	if (!count)
		return 0;
	ret = mutex_lock_interruptible(&capture->read_lock);
	if (ret)
		return ret;
	while (!next_record(capture)) {
		mutex_unlock(&capture->read_lock);
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(capture->wait,
					       readable(capture));
		if (ret)
			return ret;
		ret = mutex_lock_interruptible(&capture->read_lock);
		if (ret)
			return ret;
	}
	do {
		if (done && capture->left > count - done)
			break;
		ret = copy_record(capture, buf + done, count - done);
		if (ret < 0)
			break;
		done += ret;
	} while (done < count && next_record(capture));
	mutex_unlock(&capture->read_lock);
	return done ?: ret;
}

static __poll_t capture_poll(struct file *file, poll_table *wait)
{
	struct capture *capture = file->private_data;

	poll_wait(file, &capture->wait, wait);
	return readable(capture) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int capture_open(struct inode *inode, struct file *file)
{
	struct capture *capture = kzalloc(sizeof(*capture), GFP_KERNEL);

	if (!capture)
		return -ENOMEM;
	skb_queue_head_init(&capture->queue);
	init_waitqueue_head(&capture->wait);
	mutex_init(&capture->read_lock);
	capture->head_len = sizeof(capture->head.file);
	capture->left = capture->head_len;
	capture->head.file = (struct pcap_header) {
		.magic = PCAP_MAGIC_NS,
		.version_major = 2,
		.version_minor = 4,
		.snaplen = U16_MAX,
		.linktype = PCAP_ERF,
	};
	file->private_data = capture;

	spin_lock_bh(&capture_lock);
	list_add_tail(&capture->list, &captures);
	spin_unlock_bh(&capture_lock);
	static_branch_inc(&softib_capture_key);
	return stream_open(inode, file);
}

static int capture_release(struct inode *inode, struct file *file)
{
	struct capture *capture = file->private_data;

	static_branch_dec(&softib_capture_key);
	spin_lock_bh(&capture_lock);
	list_del(&capture->list);
	spin_unlock_bh(&capture_lock);
	skb_queue_purge(&capture->queue);
	kfree_skb(capture->skb);
	kfree(capture);
	return 0;
}

static const struct file_operations capture_fops = {
	.owner = THIS_MODULE,
	.open = capture_open,
	.release = capture_release,
	.read = capture_read,
	.poll = capture_poll,
};

void softib_capture_init(void)
{
	debugfs_create_file("capture", 0400, softib_debugfs, NULL,
			    &capture_fops);
	debugfs_create_atomic_t("capture_dropped", 0400, softib_debugfs,
				&capture_dropped);
}
