/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VM_NET_H
#define _VM_NET_H

#include <netinet/in.h>

int net_socket(void);
struct sockaddr_in net_server(unsigned int machine);

#endif /* _VM_NET_H */
