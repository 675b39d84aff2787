package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// tokenOf returns a token of an account, for an audience.
func tokenOf(t *testing.T, ns, account, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: account}}
	must(t, cluster.SubResource("token").Create(t.Context(), owner, request))
	return request.Status.Token
}

// measurersToken returns a token as the kubelet gives it to a run's measurer.
func measurersToken(t *testing.T, ns, run string) string {
	t.Helper()
	measurers := pods(t, ns, "measurer")
	if len(measurers) == 0 {
		t.Fatalf("run %s has no measurer", run)
	}
	return tokenOf(t, ns, measurers[0].Spec.ServiceAccountName, "vnfbench.io/run/"+string(getRun(t, ns, run).UID))
}

// askAgent asks the agent of a pod from its node, and returns the code and the body of its answer. The API
// server's proxy would keep the token for itself.
func askAgent(t *testing.T, pod *corev1.Pod, method, path, token string) (code int, body string) {
	t.Helper()
	request := method + " " + path + " HTTP/1.0\r\nContent-Length: 0\r\n"
	if token != "" {
		request += "Authorization: Bearer " + token + "\r\n"
	}
	out, exit := command(t, "timeout", "20", os.Getenv("LAB"), "shell", "--", "bash", "-c", `exec 3<>"/dev/tcp/$1/8080" && printf %s "$2" >&3 && cat <&3`, "ask", pod.Status.PodIP, request+"\r\n")
	head, body, found := strings.Cut(out, "\r\n\r\n")
	if _, err := fmt.Sscanf(head, "HTTP/1.0 %d", &code); exit != 0 || !found || err != nil {
		return 0, out
	}
	return code, body
}

// TestAgentsAskForAToken asks every kind of agent of a run that measures: without a token, with one of another run and of
// another account, and with the measurer's. The run itself needs the measurer's for its neighbor, its ends and its evidence.
func TestAgentsAskForAToken(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: agents}
spec:
  experiment:
    testbedRef: {name: lab}
    deadlineSeconds: 600
    chain: [{name: router, function: Router}]
    noisyNeighbors: [{name: cpu, kind: CPU}]
    traffic: {frameBytes: [128]}
    measurements:
      warmUpMilliseconds: 100
      latency:
        trialMilliseconds: 40000
        loads: [{name: idle, framesPerSecond: 200}]
      tcp: {streams: [1], durationSeconds: 2}
`)
	until(t, ns, "agents", waitForStart, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionChainReady).Status == metav1.ConditionTrue
	})
	own := measurersToken(t, ns, "agents")
	account := pods(t, ns, "measurer")[0].Spec.ServiceAccountName
	for component, asked := range map[string][2]string{
		"function": {"GET", "/status"}, "observer": {"GET", "/node"}, "neighbor": {"GET", "/status"}, "endpoint": {"DELETE", "/servers/9999"},
	} {
		found := pods(t, ns, component)
		if len(found) == 0 {
			t.Errorf("there is no pod of %s", component)
		}
		for i := range found {
			for name, tc := range map[string]struct {
				token string
				want  int
			}{
				"no token":               {"", http.StatusUnauthorized},
				"the API server's":       {tokenOf(t, ns, account, "https://kubernetes.default.svc.cluster.local"), http.StatusUnauthorized},
				"another run's":          {tokenOf(t, ns, account, "vnfbench.io/run/another"), http.StatusUnauthorized},
				"another account's":      {tokenOf(t, ns, "default", "vnfbench.io/run/"+string(getRun(t, ns, "agents").UID)), http.StatusUnauthorized},
				"the measurer's":         {own, http.StatusOK},
				"the measurer's, longer": {own + "A", http.StatusUnauthorized},
			} {
				if code, body := askAgent(t, &found[i], asked[0], asked[1], tc.token); code != tc.want {
					t.Errorf("%s, %s: got %d, want %d: %s", found[i].Name, name, code, tc.want, body)
				}
			}
			if code, body := askAgent(t, &found[i], "GET", "/readyz", ""); code != http.StatusOK {
				t.Errorf("%s: the kubelet would get %d: %s", found[i].Name, code, body)
			}
		}
	}
	run := ends(t, ns, "agents", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if report := run.Status.NoisyNeighbors; run.Status.TCP == nil || report == nil || len(report.Loads) != 1 || len(report.Loads[0].Stressors) == 0 {
		t.Errorf("the ends and the neighbor did not serve the measurer: %+v, %+v", run.Status.TCP, report)
	}
	nothingLeft(t, ns)
}
