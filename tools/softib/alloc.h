/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that were received, which are the next ones to be sent
 */
#ifndef _SOFTIB_ALLOC_H
#define _SOFTIB_ALLOC_H

#include <linux/skbuff.h>

void softib_pkt_done(struct sk_buff *skb);

#endif /* _SOFTIB_ALLOC_H */
