package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestResultsPage measures a run, waits until it is archived, and opens the results page by the plugin: an account that may see the runs of the
// namespace finds it, also after the run was deleted, and one that may not finds nothing. The document that the page gives replays without a difference.
func TestResultsPage(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	account(t, ns, "stranger")
	viewer(t, ns, "reader")
	apply(t, ns, shortRun("shown", eightSeconds))
	run := ends(t, ns, "shown", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	run = until(t, ns, "shown", stepTimeout, "archived", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionArchived).Status == metav1.ConditionTrue
	})
	t.Logf("archived %s after its end", condition(run, v1alpha1.ConditionArchived).LastTransitionTime.Sub(run.Status.CompletionTime.Time))

	site := openUI(t, ns, "reader")
	uid, pages := string(run.UID), map[string]string{
		"": "shown", "runs/" + ns + "/" + string(run.UID): "<svg", "search?q=shown": "shown", "api/v1/runs?namespace=" + ns: string(run.UID),
		"badges/run/" + ns + "/" + string(run.UID) + ".svg": "<svg",
	}
	for path, want := range pages {
		if code, body := get(t, site+path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("/%s answers %d without %q:\n%.2000s", path, code, want, body)
		}
	}
	code, document := get(t, site+"api/v1/runs/"+ns+"/"+uid+"/document")
	file := filepath.Join(t.TempDir(), "shown.json.zst")
	must(t, os.WriteFile(file, []byte(document), 0o600))
	if out, exit := command(t, "kubectl-vnfbench", "replay", file); code != http.StatusOK || exit != 0 {
		t.Errorf("the document answers %d, and its replay ends with %d:\n%s", code, exit, out)
	}
	stranger := openUI(t, ns, "stranger")
	for path := range pages {
		if _, body := get(t, stranger+path); strings.Contains(body, uid) {
			t.Errorf("who may not see the runs gets /%s", path)
		}
	}

	must(t, cluster.Delete(t.Context(), run))
	untilGone(t, run)
	if code, body := get(t, site+"runs/"+ns+"/"+uid); code != http.StatusOK || !strings.Contains(body, "<svg") {
		t.Errorf("after the run was deleted its page answers %d", code)
	}
}

// account makes a service account.
func account(t *testing.T, ns, name string) {
	t.Helper()
	must(t, cluster.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}))
}

// viewer makes a service account that may see the runs of its namespace.
func viewer(t *testing.T, ns, name string) {
	t.Helper()
	account(t, ns, name)
	must(t, cluster.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "vnfbench-viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: name}},
	}))
}

// openUI runs the plugin's ui with the token of an account until the test's end, and returns the address of its pages.
func openUI(t *testing.T, ns, account string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kubectl-vnfbench", "ui", "--no-browser", "-n", ns, "--service-account", account)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		// The context of the test has ended, so the plugin ends too.
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the plugin has printed no address: %v", err)
	}
	return strings.TrimSpace(line)
}

// get returns the answer to a request.
func get(t *testing.T, address string) (code int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { must(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(fmt.Errorf("reading %s: %w", address, err))
	}
	return answer.StatusCode, string(text)
}
