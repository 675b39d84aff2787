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
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

func TestVMRefusal(t *testing.T) {
	vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	denied := apierrors.NewForbidden(schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachineinstances"}, "m",
		errors.New(`admission webhook "virtualmachineinstances-create-validator.kubevirt.io" denied the request: NUMA feature gate is not enabled`))
	tests := map[string]struct {
		object client.Object
		err    error
		want   string
	}{
		"VM denied":         {vm, denied, v1alpha1.ReasonVirtualMachineRejected},
		"pod denied":        {pod, denied, v1alpha1.ReasonPodForbidden},
		"kind gone":         {vm, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "VirtualMachineInstance"}}, v1alpha1.ReasonKubeVirtNotInstalled},
		"networks gone":     {pod, &meta.NoKindMatchError{}, v1alpha1.ReasonNetworkAttachmentMissing},
		"webhook not there": {vm, apierrors.NewInternalError(errors.New("failed calling webhook")), v1alpha1.ReasonLaunchFailed},
		"nothing":           {vm, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var err error
			if test.err != nil {
				err = fmt.Errorf("trying %w", aboutObject(test.object, test.err))
			}
			got := ""
			if f := vmRefusal(err, refusal(err)); f != nil {
				got = f.reason
			}
			if got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}

// TestPodConsole checks that the console is the log of the one container that follows it.
func TestPodConsole(t *testing.T) {
	for _, previous := range []bool{false, true} {
		clientset := fake.NewClientset()
		if _, err := (PodConsole{Clientset: clientset}).Tail(t.Context(), "lab", "virt-launcher-x", chain.ContainerConsole, previous); err != nil {
			t.Fatal(err)
		}
		actions := clientset.Actions()
		if len(actions) != 1 || actions[0].GetSubresource() != "log" || actions[0].GetNamespace() != "lab" {
			t.Fatalf("actions %+v", actions)
		}
		options, ok := actions[0].(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
		if !ok || options.Container != chain.ContainerConsole || options.Previous != previous || options.TailLines == nil || options.LimitBytes == nil {
			t.Errorf("options %+v", options)
		}
	}
}
