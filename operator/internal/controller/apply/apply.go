// Package apply makes objects by server-side apply: an object goes in, and the
// API server has it as given, even if another writer made it.
package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"vnfbench.io/operator/internal/chain"
)

// Owner is the field manager of everything that the operator applies.
const Owner client.FieldOwner = "vnfbench"

// Object applies one object.
func Object(ctx context.Context, c client.Client, object client.Object, options ...client.ApplyOption) error {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return err
	}
	u, err := chain.Unstructured(object)
	if err != nil {
		return err
	}
	u.SetGroupVersionKind(gvk)
	options = append([]client.ApplyOption{Owner, client.ForceOwnership}, options...)
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...); err != nil {
		return fmt.Errorf("applying %s %q: %w", gvk.Kind, object.GetName(), err)
	}
	return nil
}
