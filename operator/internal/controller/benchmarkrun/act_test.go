package benchmarkrun

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestRefusal(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "p", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err    error
		reason string
	}{
		"none":                  {nil, ""},
		"plan":                  {&measure.Failure{Reason: v1alpha1.ReasonFrameTooLarge, Err: errors.New("too large"), Remedy: "lower it"}, v1alpha1.ReasonFrameTooLarge},
		"quota":                 {apierrors.NewForbidden(pods, "p", errors.New("exceeded quota")), v1alpha1.ReasonPodForbidden},
		"webhook":               {apierrors.NewBadRequest("admission webhook denied the request"), v1alpha1.ReasonPodForbidden},
		"invalid":               {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), v1alpha1.ReasonPodForbidden},
		"no Multus":             {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "NetworkAttachmentDefinition"}}, v1alpha1.ReasonNetworkAttachmentMissing},
		"namespace terminating": {terminating, ""},
		"conflict":              {apierrors.NewConflict(pods, "p", errors.New("changed")), ""},
		"not found":             {apierrors.NewNotFound(pods, "p"), ""},
		"too many requests":     {apierrors.NewTooManyRequests("later", 1), ""},
		"server":                {apierrors.NewInternalError(errors.New("etcd")), ""},
		"network":               {errors.New("connection refused"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
			}
			got := refusal(err)
			if reason := reasonOf(got); reason != test.reason {
				t.Errorf("got %q, want %q", reason, test.reason)
			}
		})
	}
}

func reasonOf(f *cause) string {
	if f == nil {
		return ""
	}
	return f.reason
}
