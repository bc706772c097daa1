/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VM_HUB_H
#define _VM_HUB_H

#include <sys/types.h>

pid_t hub_start(const int *cables, int n);

#endif /* _VM_HUB_H */
