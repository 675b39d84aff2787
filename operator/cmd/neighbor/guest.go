//go:build linux

package main

import (
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/guest/noisy"
)

// machine is the neighbor as a virtual machine.
var machine = guest.Program{
	Name:    "neighbor",
	Whose:   "neighbor",
	Purpose: "Make the machine a noisy neighbor",
	Run:     noisy.Run,
}
