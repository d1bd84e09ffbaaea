// SPDX-License-Identifier: Apache-2.0
mod api;
mod features;
// In namespaces: one at a time, by its name.
mod netns;
