package main

import "fmt"

// exception is a limit that is known to be below what other devices must have.
type exception struct {
	// least is how low it may be, as a share of flat out. Below it the line fails.
	least float64
	why   string
}

// lowerLimits are the exceptions, by device and number of directions.
var lowerLimits = map[string]exception{
	// The limit was 0.87 to 0.89 in four runs. At an overload the device received 0.85 and 0.86 of flat out in batches of 8, and 0.94
	// and 0.93 in batches of 16, of which 8 are of each direction.
	"router with 200 iptables rules, 2 directions": {0.85, "the directions take turns in a batch of 8, so each port takes 4 frames together, and 16 as fast as possible; the rules cost less for each frame in longer batches"},
}

// leastLimitOf returns how high a limit must be, of a device that must have the given one by its kind, and how the line says it.
func leastLimitOf(name string, ofKind float64) (least float64, said string) {
	if e, known := lowerLimits[name]; known {
		return e.least, fmt.Sprintf("want %.2f at least by an exception from %.2f (%s)", e.least, ofKind, e.why)
	}
	return ofKind, fmt.Sprintf("want %.2f at least", ofKind)
}
