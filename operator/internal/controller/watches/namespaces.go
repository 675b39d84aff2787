package watches

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
)

// rejoinInterval is how often the operator asks again for a namespace that it could not read.
const rejoinInterval = 10 * time.Second

// Readable splits the namespaces into those whose runs the operator may read, and the others. A cache
// of a namespace that cannot be read never has its first list, and the operator would not start for any. It asks for the
// right to watch: runs can be listed in all namespaces.
func Readable(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, namespaces []string) (readable, unreadable []string, err error) {
	for _, namespace := range namespaces {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "watch", Group: v1alpha1.GroupVersion.Group, Resource: "benchmarkruns"},
		}}
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, nil, fmt.Errorf("asking for the rights in namespace %q: %w", namespace, err)
		}
		if answer.Status.Allowed {
			readable = append(readable, namespace)
		} else {
			unreadable = append(unreadable, namespace)
		}
	}
	return readable, unreadable, nil
}

// Rejoin is a runnable that ends the manager when one of the namespaces can be read again: a cache takes
// no namespace later, and its Deployment starts the operator again.
type Rejoin struct {
	Reviews authorizationclient.SelfSubjectAccessReviewInterface
	// Unreadable are the namespaces that the operator may not read.
	Unreadable []string
	// Interval is the time between two questions; 0: 10 s.
	Interval time.Duration
}

// NeedLeaderElection says that a manager that waits for the leadership ends too.
func (r *Rejoin) NeedLeaderElection() bool { return false }

// Ready is the readiness check of an operator that can read none of its namespaces.
func (r *Rejoin) Ready(*http.Request) error {
	return fmt.Errorf("the operator may watch BenchmarkRuns in none of the namespaces that it is to watch, %s: create them, and install the operator's RoleBinding there", strings.Join(r.Unreadable, ", "))
}

// Start returns when the context ends, or with an error when a namespace is back.
func (r *Rejoin) Start(ctx context.Context) error {
	interval := r.Interval
	if interval == 0 {
		interval = rejoinInterval
	}
	log := ctrl.LoggerFrom(ctx)
	log.Info("Not watching namespaces that the operator may not read", "namespaces", r.Unreadable)
	for {
		if clock.Sleep(ctx, interval) != nil {
			return nil
		}
		for _, namespace := range slices.Clone(r.Unreadable) {
			back, _, err := Readable(ctx, r.Reviews, []string{namespace})
			if err == nil && len(back) > 0 {
				return fmt.Errorf("namespace %q can be read now: starting again, to watch it too", namespace)
			}
			log.V(1).Info("Asked for the rights in a namespace", "namespace", namespace, "answer", err)
		}
	}
}
