// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues, of datagrams and of connections.
 */
#include "ipoib.h"

/*
 * The CQ has room for @cqe + 1 completions. CQs are spread over the CPUs: each takes the next
 * vector. Returns the CQ, or an ERR_PTR().
 */
struct ib_cq *ipoib_create_cq(struct ipoib_dev *priv, ib_comp_handler handler,
			      void *context, unsigned int cqe)
{
	static atomic_t next_vector;
	unsigned int vector = atomic_fetch_inc(&next_vector);
	struct ib_cq_init_attr attr = {
		.cqe		= cqe + 1,
		.comp_vector	= vector % max(priv->hca->num_comp_vectors, 1),
	};

	return ib_create_cq(priv->hca, handler, NULL, context, &attr);
}
