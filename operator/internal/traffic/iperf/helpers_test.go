package iperf

import (
	"context"
	"fmt"
)

func errCancelled() error { return fmt.Errorf("asking: %w", context.Canceled) }
