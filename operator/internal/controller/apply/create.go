package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// Create makes an object that is made once, and returns whether it did. Where an object of its name exists, Create reads that one into
// existing, without the cache, and changes nothing.
func Create(ctx context.Context, c client.Client, reader client.Reader, object, existing client.Object) (made bool, err error) {
	err = c.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return false, fmt.Errorf("reading %q, which exists: %w", object.GetName(), err)
	}
	return false, nil
}

// IsOf reports whether the controller of an object is an owner of a kind of this API. The API server lets the operator alone
// name one (config/admission/benchmarksuite-owner.yaml). An owner of another kind proves nothing, whatever its UID.
func IsOf(object, owner metav1.Object, kind string) bool {
	ref := metav1.GetControllerOf(object)
	return ref != nil && ref.APIVersion == v1alpha1.GroupVersion.String() && ref.Kind == kind && ref.Name == owner.GetName() && ref.UID == owner.GetUID()
}
