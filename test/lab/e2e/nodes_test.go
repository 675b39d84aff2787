package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nodesNamespace is that of testdata/nodes.yaml.
const nodesNamespace = "lab-nodes"

// twoNodes skips a test unless the lab is to have two nodes. A lab that then has not is an error.
func twoNodes(t *testing.T) []string {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_NODES") != "2" {
		t.Skip("NOT RUN: one node was tried alone. Set VNFBENCH_E2E_NODES=2 with a lab that was brought up with --nodes 2")
	}
	lab(t, "status") // fails unless every node is ready
	nodes := strings.Fields(lab(t, "kubectl", "--", "get", "nodes", "--output=jsonpath={.items[*].metadata.name}"))
	if len(nodes) != 2 {
		t.Fatalf("VNFBENCH_E2E_NODES is 2, and the lab has the nodes %q: bring it up with --nodes 2", nodes)
	}
	return nodes
}

// TestNodesReachEachOther sends requests from a pod on each node to pods on both, by their own addresses and those of
// services, which CoreDNS resolves, and from each node's own network.
func TestNodesReachEachOther(t *testing.T) {
	nodes := twoNodes(t)
	manifest, err := os.ReadFile(filepath.Join("testdata", "nodes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := func(args ...string) string {
		return lab(t, append([]string{"kubectl", "--", "--namespace", nodesNamespace}, args...)...)
	}
	in("delete", "namespace", nodesNamespace, "--ignore-not-found", "--timeout=5m") // of a test that was ended in the middle
	in("create", "namespace", nodesNamespace)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(in("get", "pods", "--output=wide"))
		}
		in("delete", "namespace", nodesNamespace, "--timeout=5m")
	})
	for _, node := range nodes {
		apply := exec.Command(os.Getenv("VNFBENCH_LAB"), "kubectl", "--", "apply", "--filename=-")
		apply.Stdin = strings.NewReader(strings.ReplaceAll(string(manifest), "NODE", node))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("applying the objects of %s: %v\n%s", node, err, out)
		}
	}
	for _, node := range nodes {
		in("wait", "--for=condition=Ready", "pod/server-"+node, "--timeout=5m")
		in("wait", "--for=condition=Complete", "job/client-"+node, "--timeout=2m")
		if got := in("get", "pod", "server-"+node, "--output=jsonpath={.spec.nodeName}"); got != node {
			t.Errorf("the server of %s runs on %s", node, got)
		}
		// The API server reaches the kubelet of the pod's node.
		if got := in("exec", "server-"+node, "--", "cat", "/tmp/name"); strings.TrimSpace(got) != node {
			t.Errorf("the server of %s says that it is %q", node, got)
		}
	}
	for _, from := range nodes {
		for _, to := range nodes {
			for what, path := range map[string]string{"pod/server-" + to: "{.status.podIP}", "service/service-" + to: "{.spec.clusterIP}"} {
				address := in("get", what, "--output=jsonpath="+path)
				request := `printf 'GET /name HTTP/1.0\r\n\r\n' | busybox nc -w 5 ` + address + " 8080"
				got := lab(t, "shell", "--node", from, "--", "sh", "-c", request)
				if !strings.HasSuffix(got, "\r\n\r\n"+to+"\n") {
					t.Errorf("%s answers %s with %q", what, from, got)
				}
			}
		}
	}
}

// TestImagesAreOnAllNodes checks that every node has the images that every lab has.
func TestImagesAreOnAllNodes(t *testing.T) {
	for _, node := range twoNodes(t) {
		images := lab(t, "shell", "--node", node, "--", "ctr", "--namespace", "k8s.io", "images", "list", "--quiet")
		for _, want := range []string{"localhost/busybox:1", "localhost/coredns:lab", "localhost/pause:lab"} {
			if !strings.Contains("\n"+images, "\n"+want+"\n") {
				t.Errorf("%s does not have the image %s:\n%s", node, want, images)
			}
		}
	}
}

// TestWorkerHasNoKeysOfTheCluster checks that a worker can sign nothing and is no administrator.
func TestWorkerHasNoKeysOfTheCluster(t *testing.T) {
	nodes := twoNodes(t)
	first, worker := nodes[0], nodes[1]
	for _, file := range []string{"ca.key", "sa.key", "front-proxy-ca.key", "admin.kubeconfig"} {
		lab(t, "shell", "--node", first, "--", "test", "-e", "/etc/kubernetes/"+file)
		lab(t, "shell", "--node", worker, "--", "test", "!", "-e", "/etc/kubernetes/"+file)
	}
	out, err := exec.Command(os.Getenv("VNFBENCH_LAB"), "shell", "--node", worker, "--", "kubectl", "--kubeconfig=/etc/kubernetes/kubelet.kubeconfig", "get", "secrets", "--all-namespaces").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Forbidden") {
		t.Errorf("the worker asks for the secrets of the whole cluster: %v\n%s", err, out)
	}
}
