/* SPDX-License-Identifier: GPL-2.0 */
/* Captures: every packet that crosses a link, once, for programs that read them */
#ifndef _SOFTIB_CAPTURE_H
#define _SOFTIB_CAPTURE_H

#include <linux/jump_label.h>

#include "hdr.h"

DECLARE_STATIC_KEY_FALSE(softib_capture_key);
void __softib_capture(struct sk_buff *skb);
void softib_capture_init(void);

/* Before the packet crosses its first link. */
static inline void softib_capture(struct sk_buff *skb)
{
	if (static_branch_unlikely(&softib_capture_key) &&
	    !softib_cb(skb)->captured)
		__softib_capture(skb);
}

#endif /* _SOFTIB_CAPTURE_H */
