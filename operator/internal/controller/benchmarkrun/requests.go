package benchmarkrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/placement"
)

// maxCountedNodes is the number of nodes whose pods are read for one plan. The others count as free.
const maxCountedNodes = 32

// requested reads what pods request on nodes. An operator with watchNamespaces may not read the pods of
// the cluster: it knows nothing of any node.
func (r *Reconciler) requested(ctx context.Context, nodes []string) (map[string]corev1.ResourceList, error) {
	found := map[string]corev1.ResourceList{}
	for _, node := range nodes[:min(len(nodes), maxCountedNodes)] {
		var pods corev1.PodList
		running := client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermEqualSelector("spec.nodeName", node),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		)}
		var requests placement.Requests
		_, err := r.pages.read(ctx, r.Reader, &pods, 0, func() error {
			for i := range pods.Items {
				requests.Add(&pods.Items[i])
			}
			return nil
		}, running)
		if apierrors.IsForbidden(err) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing the pods of node %q: %w", node, err)
		}
		found[node] = requests.Total()
	}
	return found, nil
}
