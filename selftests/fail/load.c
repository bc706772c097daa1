// SPDX-License-Identifier: GPL-2.0
/*
 * load MODULE.ko [PARAMETERS]: loads and unloads the module, with each allocation
 * failing in turn while it is loaded.
 */
#include "nth.h"

#include <sys/stat.h>
#include <sys/syscall.h>

static void *image;
static size_t image_len;
static char name[64];
static const char *parameters = "";

/* The file's name, as the kernel writes it. */
static void read_image(const char *path)
{
	const char *base = strrchr(path, '/');
	int fd = open(path, O_RDONLY);
	struct stat st;

	must(fd >= 0 && !fstat(fd, &st));
	image_len = st.st_size;
	image = malloc(image_len);
	must(image && read(fd, image, image_len) == (ssize_t)image_len);
	close(fd);
	snprintf(name, sizeof(name), "%s", base ? base + 1 : path);
	*strchrnul(name, '.') = 0;
}

static int act_load(void)
{
	return syscall(SYS_init_module, image, image_len, parameters);
}

static bool after_load(int ret)
{
	return ret || !syscall(SYS_delete_module, name, 0);
}

int main(int argc, char **argv)
{
	const struct scene s = { argv[1], NULL, act_load, after_load };

	must(argc >= 2);
	read_image(argv[1]);
	if (argc > 2)
		parameters = argv[2];
	nth_open();
	nth_run(&s);
	return tap_exit();
}
