package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/e2e/repository"
)

// nodeAddress is the node's in its own network namespace, which the cluster's pods reach.
const nodeAddress = "172.30.0.2"

// gitServer serves the repositories below a folder by Git's own program.
func gitServer(t *testing.T, root string) http.Handler {
	t.Helper()
	return &cgi.Handler{
		Path: filepath.Join(repository.Git(t, root, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
	}
}

// serve serves HTTP in the network of the lab's node, where the cluster's pods reach it and nothing else does, and returns the URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	// The lab keeps the process of its node there, by the id that it has on this machine.
	text, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "record.json"))
	must(t, err)
	var node struct{ PID int }
	must(t, json.Unmarshal(text, &node))
	listener, err := listenIn(fmt.Sprintf("/proc/%d/ns/net", node.PID), nodeAddress+":0")
	must(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// listenIn opens a socket in another network namespace. The thread that enters it is not used again: it ends with its goroutine, which keeps it.
func listenIn(namespace, address string) (listener net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var file *os.File
		if file, err = os.Open(namespace); err != nil {
			return
		}
		defer file.Close()
		if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err == nil {
			listener, err = net.Listen("tcp", address)
		}
	}()
	<-done
	return listener, err
}
