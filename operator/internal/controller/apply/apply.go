// Package apply makes objects by server-side apply: an object goes in, and the
// API server has it as given, unless another writer has fields of it.
package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"vnfbench.io/operator/internal/chain"
)

// Owner is the field manager of everything that the operator applies.
const Owner client.FieldOwner = "vnfbench"

// Taken is the error of an object with fields that another writer has set to other values.
type Taken struct {
	Kind, Name string
	// Err is the API server's, which names the writer and the fields.
	Err error
}

func (t *Taken) Error() string {
	return fmt.Sprintf("%s %q belongs to another writer: %v", t.Kind, t.Name, t.Err)
}

func (t *Taken) Unwrap() error { return t.Err }

// Object applies one object. It takes no field from another writer: with the option
// client.ForceOwnership it does, which is for objects that are known to be the run's own.
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
	options = append([]client.ApplyOption{Owner}, options...)
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...)
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return &Taken{gvk.Kind, object.GetName(), err}
	case err != nil:
		return fmt.Errorf("applying %s %q: %w", gvk.Kind, object.GetName(), err)
	}
	return nil
}
