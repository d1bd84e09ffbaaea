// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package clients holds tests only; these are the programs that they run.
package clients

import _ "go.fd.io/govpp/cmd/binapi-generator"
