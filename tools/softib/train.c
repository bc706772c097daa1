// SPDX-License-Identifier: GPL-2.0
/*
 * Training of links: whether one can come up, and what its ports get to know then
 */
#include "far.h"

static const struct {
	u8 width;
	u8 speed;
} rates[] = {
	[SOFTIB_RATE_2_5] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[SOFTIB_RATE_5] = { IB_WIDTH_1X, IB_SPEED_DDR },
	[SOFTIB_RATE_10] = { IB_WIDTH_4X, IB_SPEED_SDR },
	[SOFTIB_RATE_20] = { IB_WIDTH_4X, IB_SPEED_DDR },
	[SOFTIB_RATE_40] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[SOFTIB_RATE_56] = { IB_WIDTH_4X, IB_SPEED_FDR },
	[SOFTIB_RATE_100] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[SOFTIB_RATE_200] = { IB_WIDTH_4X, IB_SPEED_HDR },
	[SOFTIB_RATE_400] = { IB_WIDTH_4X, IB_SPEED_NDR },
};

/* Do the ends in this kernel want the link to be up? softib_mgmt_lock is held. */
bool softib_link_ready(const struct softib_link *link)
{
	bool ready = link->up;
	int i;

	for (i = 0; i < 2; i++) {
		const struct softib_port *port = link->end[i];

		if (port)
			ready &= rcu_access_pointer(port->link) == link &&
				 !port->disabled && !port->broken;
	}
	return ready;
}

static void set_port(struct softib_port *port, bool up, u8 mtu, u8 rate)
{
	struct ib_port_info *info = &port->info;

	softib_port_set_state(port, IB_PORT_DOWN);
	softib_port_set_phys(port, up ? IB_PORT_PHYS_STATE_LINK_UP :
			     port->disabled ? IB_PORT_PHYS_STATE_DISABLED :
			     IB_PORT_PHYS_STATE_POLLING);
	if (!up)
		return;
	info->link_width_active = rates[rate].width;
	WRITE_ONCE(port->speed, rates[rate].speed);
	info->linkspeedactive_enabled &= 0x0f;
	info->linkspeedactive_enabled |= min_t(u8, port->speed, IB_SPEED_QDR) << 4;
	info->inittypereply_mtucap &= 0xf0;
	info->inittypereply_mtucap |= mtu;
	if (info->neighbormtu_mastersmsl >> 4 > mtu)
		softib_port_set_mtu(port, mtu);
	softib_port_set_state(port, IB_PORT_INIT);
}

/*
 * Takes a link down, and then up if @up; the subnet manager takes it from INIT to ACTIVE.
 * softib_mgmt_lock is held.
 */
void softib_link_set(struct softib_link *link, bool up)
{
	const struct softib_far *far = link->far;
	u8 mtu = link->mtu, rate = link->rate;
	int i;

	lockdep_assert_held(&softib_mgmt_lock);
	if (up && far) {
		mtu = min(mtu, far->hello.mtu);
		rate = min(rate, far->hello.rate);
	}
	for (i = 0; i < 2; i++)
		if (link->end[i])
			set_port(link->end[i], up, mtu, rate);
}
