package lab

import (
	"context"
	"fmt"
	"time"
)

const pollInterval = 300 * time.Millisecond

func (l Lab) waitForAPI(ctx context.Context, r record) error {
	return poll(ctx, pollInterval, func(ctx context.Context) error {
		if !r.Alive() {
			return ErrNotUp
		}
		return l.kubectl(r).command("get", "--raw=/readyz").Run(ctx)
	})
}

// The parts of Kubernetes objects that show whether they are ready.
type (
	condition struct {
		Type, Status      string
		LastHeartbeatTime time.Time
	}
	nodeObject struct {
		Status struct {
			Conditions []condition
			NodeInfo   struct{ KubeletVersion string }
		}
	}
	podList struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Containers []struct{ Image string }
			}
			Status struct {
				Conditions        []condition
				ContainerStatuses []struct {
					Ready bool
					State struct {
						Running *struct{ StartedAt time.Time }
					}
				}
			}
		}
	}
)

// ready reports whether the kubelet reported a ready node since a time. What it reported before it
// crashed stays in the cluster.
func (n nodeObject) ready(since time.Time) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" && !c.LastHeartbeatTime.Before(since) {
			return true
		}
	}
	return false
}

// waitForNode waits until the kubelet of the node, whose record is r, reports that it is ready. The API
// server that it reports to is that of first.
func (m member) waitForNode(ctx context.Context, first, r record) error {
	return poll(ctx, pollInterval, func(ctx context.Context) error { return m.askForNode(ctx, first, r) })
}

// askForNode returns an error unless the node is ready.
func (m member) askForNode(ctx context.Context, first, r record) error {
	if !r.Alive() {
		return m.notUp()
	}
	var n nodeObject
	if err := m.lab.kubectl(first).get(ctx, &n, "node", m.node.Name()); err != nil {
		return err
	}
	if !n.ready(r.since()) {
		return fmt.Errorf("%s is not ready", m.subject())
	}
	return nil
}

// ready reports whether a container that was started since a time is ready.
func (p podList) ready(since time.Time) bool {
	for _, item := range p.Items {
		for _, c := range item.Status.ContainerStatuses {
			if c.Ready && c.State.Running != nil && !c.State.Running.StartedAt.Before(since) {
				return true
			}
		}
	}
	return false
}

func (l Lab) waitForCoreDNS(ctx context.Context, r record) error {
	return poll(ctx, pollInterval, func(ctx context.Context) error {
		var pods podList
		err := l.kubectl(r).get(ctx, &pods, "pods", "--namespace=kube-system", "--selector=k8s-app=kube-dns")
		if err != nil {
			return err
		}
		if !pods.ready(r.since()) {
			return fmt.Errorf("CoreDNS is not ready")
		}
		return nil
	})
}
