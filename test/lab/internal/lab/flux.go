package lab

import (
	"context"

	"vnfbench.io/test/lab/internal/flux"
)

// Flux returns a directory with the archives and the manifest of Flux's controllers. It needs no running node.
func (l Lab) Flux(ctx context.Context) (string, error) {
	return flux.Maker{Builder: l.builder(), Cache: l.cache(), Log: l.Log}.Make(ctx)
}
