# SPDX-License-Identifier: GPL-2.0
#
# What lists endpoints, for the Makefiles of sdpstat and sdpctl; IN is this folder.

LIST         := $(addprefix $(IN),tool.c endpoint.c direct.c sockets.c owners.c filter.c \
		read.c show.c table.c)
LIST_HEADERS := $(addprefix $(IN),tool.h endpoint.h filter.h show.h table.h list.mk) \
		../../uapi/linux/sdp_diag.h ../../uapi/linux/sdp_sock.h
