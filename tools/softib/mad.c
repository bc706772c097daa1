// SPDX-License-Identifier: GPL-2.0
/*
 * Where ib_mad hands an HCA's agents the MADs that it received
 */
#include <rdma/ib_pma.h>

#include "softib.h"

static int process_smp(struct softib_port *port, struct ib_smp *smp)
{
	switch (softib_sma(port, smp)) {
	case SOFTIB_SMA_REPLY:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	case SOFTIB_SMA_DROP:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

/**
 * softib_process_mad - give an HCA's agents the first look at a MAD
 * @ibdev:	the HCA
 * @flags:	unused: M_Keys are always checked
 * @port_num:	the port
 * @wc:		unused
 * @grh:	unused
 * @in:		the MAD; its directed route has been dealt with
 * @out:	the response, if there is one
 * @out_size:	left at the size of a MAD
 * @out_pkey_index: unused
 *
 * Return: a mask of IB_MAD_RESULT_*.
 */
int softib_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	struct softib_hca *hca = to_softib_hca(ibdev);
	struct softib_port *port = softib_hca_port(hca);

	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
	case IB_MGMT_CLASS_PERF_MGMT:
		break;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	/* ib_mad would answer by the agent that it frees: agent_send_response()
	 * holds no reference to what ib_agent_port_close() unregisters.
	 */
	if (READ_ONCE(hca->leaving))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	*out = *in;
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return process_smp(port, (struct ib_smp *)out);
	if (softib_pma(port, (struct ib_pma_mad *)out))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	return IB_MAD_RESULT_SUCCESS;
}
