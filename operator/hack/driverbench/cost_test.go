package main

import (
	"strings"
	"testing"
)

// TestMore prints no difference that is negative.
func TestMore(t *testing.T) {
	for nanoseconds, want := range map[float64]string{-15: "not resolved", -0.4: "not resolved", 23.4: "23 more"} {
		if got := more(nanoseconds); got != want {
			t.Errorf("%.1f: %q, want %q", nanoseconds, got, want)
		}
	}
}

// TestBoundOf bounds a ratio only by a figure of the kernel that is below the driver's.
func TestBoundOf(t *testing.T) {
	if got := boundOf(154, 173, 1707); !strings.Contains(got, "a ratio of 11.08 at most") {
		t.Error(got)
	}
	if got := boundOf(191, 173, 1707); !strings.Contains(got, "no bound") {
		t.Error(got)
	}
}
