/* SPDX-License-Identifier: GPL-2.0-only */
/* On the host a program is a function like any other. */
#define SEC(name)
#define __ksym
#define __always_inline inline
