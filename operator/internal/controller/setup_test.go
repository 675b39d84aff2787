package controller

import (
	"context"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
)

// TestEveryCacheReportsItsErrors checks that a kind that the operator cannot read is noticed, also that of virtual
// machines, which has its own cache.
func TestEveryCacheReportsItsErrors(t *testing.T) {
	handled := 0
	onError := func(context.Context, *toolscache.Reflector, error) { handled++ }
	manager, err := CacheOptions(nil, onError)
	if err != nil {
		t.Fatal(err)
	}
	vms, err := vmCacheOptions([]string{"lab"}, onError)
	if err != nil {
		t.Fatal(err)
	}
	if manager.DefaultWatchErrorHandler == nil || vms.DefaultWatchErrorHandler == nil {
		t.Fatal("a cache has no handler of errors")
	}
	manager.DefaultWatchErrorHandler(t.Context(), nil, nil)
	vms.DefaultWatchErrorHandler(t.Context(), nil, nil)
	if handled != 2 {
		t.Errorf("%d of 2 errors were handled", handled)
	}
	if len(vms.ByObject) > 0 || vms.DefaultLabelSelector == nil {
		t.Errorf("the cache of virtual machines has %+v", vms)
	}
}
