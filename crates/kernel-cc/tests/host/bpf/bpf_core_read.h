/* SPDX-License-Identifier: GPL-2.0-only */
#define BPF_CORE_READ_BITFIELD(where, field) ((where)->field)
