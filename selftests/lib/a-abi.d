abi.o: abi.c ../../uapi/linux/sdp.h
../../uapi/linux/sdp.h:
