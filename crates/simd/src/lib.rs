// SPDX-License-Identifier: Apache-2.0
//! Vector kernels, each beside its scalar twin, and ISA dispatch.
