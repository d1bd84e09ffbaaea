// SPDX-License-Identifier: Apache-2.0
mod api;
// In namespaces: one at a time, by its name.
mod netns;
