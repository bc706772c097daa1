// SPDX-License-Identifier: GPL-2.0
/*
 * Files in the interface's folder below /sys/class/net.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

static ssize_t pkey_show(struct device *device, struct device_attribute *attr,
			 char *buf)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));

	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(priv->pkey));
}
static DEVICE_ATTR_RO(pkey);

static ssize_t mode_show(struct device *device, struct device_attribute *attr,
			 char *buf)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));

	return sysfs_emit(buf, "%s\n", READ_ONCE(priv->connected) ?
			  "connected" : "datagram");
}

static ssize_t mode_store(struct device *device, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));
	bool connected = sysfs_streq(buf, "connected");
	int err;

	if (!connected && !sysfs_streq(buf, "datagram"))
		return -EINVAL;
	/* As below. */
	if (!rtnl_trylock())
		return restart_syscall();
	err = priv->dev->reg_state == NETREG_REGISTERED ?
	      ipoib_set_mode(priv, connected, NULL) : -ENODEV;
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(mode);

static ssize_t umcast_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));

	return sysfs_emit(buf, "%d\n", READ_ONCE(priv->umcast));
}

static ssize_t umcast_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));
	unsigned int value;
	int err;

	err = kstrtouint(buf, 0, &value);
	if (err)
		return err;
	WRITE_ONCE(priv->umcast, value);
	return count;
}
static DEVICE_ATTR_RW(umcast);

static ssize_t parent_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));

	return sysfs_emit(buf, "%s\n", priv->parent->dev->name);
}
static DEVICE_ATTR_RO(parent);

/* The removal of an interface waits, under rtnl, for writers: so this must not wait for rtnl. */
static ssize_t ipoib_change_child(struct device *device, const char *buf,
				  size_t count,
				  int (*change)(struct ipoib_dev *parent,
						u16 pkey))
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(device));
	char text[16];
	u16 pkey;
	int err;

	/* Blanks behind it do no harm. */
	if (strscpy(text, buf, sizeof(text)) < 0)
		return -EINVAL;
	err = kstrtou16(strim(text), 0, &pkey);
	if (err)
		return err;
	if (!rtnl_trylock())
		return restart_syscall();
	if (!ns_capable(dev_net(priv->dev)->user_ns, CAP_NET_ADMIN))
		err = -EPERM;
	else if (priv->dev->reg_state != NETREG_REGISTERED)
		err = -ENODEV;
	else
		err = change(priv, pkey);
	rtnl_unlock();
	return err ?: count;
}

static ssize_t create_child_store(struct device *device,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return ipoib_change_child(device, buf, count, ipoib_child_create);
}
static DEVICE_ATTR_WO(create_child);

static ssize_t delete_child_store(struct device *device,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return ipoib_change_child(device, buf, count, ipoib_child_delete);
}
static DEVICE_ATTR_WO(delete_child);

static struct attribute *ipoib_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	&dev_attr_umcast.attr,
	&dev_attr_parent.attr,
	&dev_attr_create_child.attr,
	&dev_attr_delete_child.attr,
	NULL,
};

static umode_t ipoib_attr_visible(struct kobject *kobj, struct attribute *attr,
				  int n)
{
	struct ipoib_dev *priv = ipoib_priv(to_net_dev(kobj_to_dev(kobj)));
	bool visible = true;

	if (attr == &dev_attr_parent.attr)
		visible = priv->parent;
	else if (attr == &dev_attr_create_child.attr ||
		 attr == &dev_attr_delete_child.attr)
		visible = !priv->parent;
	return visible ? attr->mode : 0;
}

const struct attribute_group ipoib_attr_group = {
	.attrs = ipoib_attrs,
	.is_visible = ipoib_attr_visible,
};
