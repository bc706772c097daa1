// SPDX-License-Identifier: GPL-2.0
/*
 * Files in the interface's folder below /sys/class/net.
 */
#include "ipoib.h"

static ssize_t pkey_show(struct device *device, struct device_attribute *attr,
			 char *buf)
{
	struct ipoib_dev *priv = netdev_priv(to_net_dev(device));

	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(priv->pkey));
}
static DEVICE_ATTR_RO(pkey);

static ssize_t mode_show(struct device *device, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "datagram\n");
}

static ssize_t mode_store(struct device *device, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	return sysfs_streq(buf, "datagram") ? count : -EINVAL;
}
static DEVICE_ATTR_RW(mode);

static ssize_t umcast_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct ipoib_dev *priv = netdev_priv(to_net_dev(device));

	return sysfs_emit(buf, "%d\n", READ_ONCE(priv->umcast));
}

static ssize_t umcast_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct ipoib_dev *priv = netdev_priv(to_net_dev(device));
	unsigned int value;
	int err;

	err = kstrtouint(buf, 0, &value);
	if (err)
		return err;
	WRITE_ONCE(priv->umcast, value);
	return count;
}
static DEVICE_ATTR_RW(umcast);

static struct attribute *ipoib_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	&dev_attr_umcast.attr,
	NULL,
};

const struct attribute_group ipoib_attr_group = {
	.attrs = ipoib_attrs,
};
