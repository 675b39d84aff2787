package envtest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// TestAgentsAnswerTheMeasurerAlone: the operator, with the rights of an installation, gives each agent the keys of a real
// API server. With them the agent accepts the token that this API server makes for the measurer's pod, and no
// other token of it.
func TestAgentsAnswerTheMeasurerAlone(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1}}
		run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "cpu", Kind: v1alpha1.NeighborCPU}}
	})
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	clients, err := kubernetes.NewForConfig(config)
	l.Expect(err).NotTo(HaveOccurred())
	token := func(account string, audiences ...string) string {
		made, err := clients.CoreV1().ServiceAccounts(l.namespace).CreateToken(l.ctx, account, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: audiences},
		}, metav1.CreateOptions{})
		l.Expect(err).NotTo(HaveOccurred())
		return made.Status.Token
	}
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "mallory"}}
	l.Expect(cluster.Create(l.ctx, other)).To(Succeed())
	measurers := l.pods(chain.ComponentMeasurer)
	l.Expect(measurers).To(HaveLen(1))
	audience := "vnfbench.io/run/" + string(run.UID)
	account := plan.NamesOf(run).ServiceAccount
	l.Expect(measurers[0].Spec.ServiceAccountName).To(Equal(account))
	var audiences []string
	for _, volume := range measurers[0].Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				audiences = append(audiences, source.ServiceAccountToken.Audience)
			}
		}
	}
	l.Expect(audiences).To(Equal([]string{"", audience}))

	tokens := map[string]int{
		"":             http.StatusUnauthorized,
		token(account): http.StatusUnauthorized, // for the API server
		token(account, "vnfbench.io/run/another"):       http.StatusUnauthorized,
		token(other.Name, audience):                     http.StatusUnauthorized,
		token(account, audience) + "A":                  http.StatusUnauthorized,
		token(account, audience):                        http.StatusOK,
		token(account, "vnfbench.io/another", audience): http.StatusOK,
	}
	var pods corev1.PodList
	l.Expect(cluster.List(l.ctx, &pods, client.InNamespace(l.namespace))).To(Succeed())
	agents := 0
	for _, pod := range pods.Items {
		if pod.Labels[v1alpha1.LabelComponent] == chain.ComponentMeasurer {
			continue
		}
		agents++
		for _, variable := range pod.Spec.Containers[0].Env {
			if variable.Name != caller.Variable {
				continue
			}
			rule, err := caller.Parse([]byte(variable.Value))
			l.Expect(err).NotTo(HaveOccurred(), pod.Name)
			guard, err := rule.Guard()
			l.Expect(err).NotTo(HaveOccurred(), pod.Name)
			agents--
			for token, want := range tokens {
				request, answer := httptest.NewRequest(http.MethodGet, "/status", nil), httptest.NewRecorder()
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				guard.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(answer, request)
				l.Expect(answer.Code).To(Equal(want), "%s: %s: %s", pod.Name, token, answer.Body)
			}
		}
	}
	l.Expect(agents).To(BeZero(), "agents without a rule")
	l.Expect(len(pods.Items)).To(BeNumerically(">=", 5))
}
