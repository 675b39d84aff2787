package benchmarkrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Limits for reading a console: enough for a kernel's last messages.
const (
	consoleLines = 6
	consoleBytes = 16 << 10
)

// PodConsole reads consoles from the logs of containers: that of a launcher that follows its guest, or a user's own.
type PodConsole struct{ Clientset kubernetes.Interface }

// Tail returns the last lines of a container's log, or of that of the container before it.
func (c PodConsole) Tail(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
	log, err := c.Clientset.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: new(int64(consoleLines)), LimitBytes: new(int64(consoleBytes)),
	}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of container %q of pod %q: %w", container, pod, err)
	}
	return string(log), nil
}
