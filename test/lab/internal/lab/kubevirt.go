package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"vnfbench.io/test/lab/internal/doctor"
	"vnfbench.io/test/lab/internal/kubevirt"
	"vnfbench.io/test/lab/manifests"
)

// kubeVirt makes KubeVirt for this machine.
func (l Lab) kubeVirt() kubevirt.Maker {
	return kubevirt.Maker{Builder: l.builder(), Cache: l.cache(), Log: l.Log, Abilities: kubevirt.Examine()}
}

// KubeVirtImages returns a directory with the archives of KubeVirt's images and the manifest of its
// operator. It needs no running node.
func (l Lab) KubeVirtImages(ctx context.Context) (string, error) {
	if err := (doctor.Machine{Dir: l.StateDir, KubeVirt: true}).Install(ctx); err != nil {
		return "", err
	}
	tree, err := l.rootfs().Build(ctx, kubevirt.Tree)
	if err != nil {
		return "", err
	}
	compiled, err := l.kubeVirt().Compile(ctx)
	if err != nil {
		return "", err
	}
	made, err := l.kubeVirt().Pack(ctx, tree, compiled)
	return made.Dir, err
}

// kubeVirtTimeout is longer than KubeVirt's installation takes on a busy machine. It takes two
// minutes on an idle one, and more where a node is an emulated machine.
const kubeVirtTimeout = 25 * time.Minute

// kubeVirtSteps returns the steps that deploy KubeVirt in a running cluster.
func (l Lab) kubeVirtSteps(r record, made kubevirt.Made) []step {
	abilities := kubevirt.Examine()
	l.Log.Printf("%s", abilities)
	return []step{
		{"KubeVirt's images loaded", func(ctx context.Context) error { return l.loadAll(ctx, made.Archives()) }},
		{"KubeVirt's operator applied", func(ctx context.Context) error { return l.applyKubeVirt(ctx, r, made, abilities) }},
		{"KubeVirt deployed", func(ctx context.Context) error { return l.waitForKubeVirt(ctx, r, made) }},
	}
}

// controlPlaneLabel is where KubeVirt's controllers want to run.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane="

func (l Lab) applyKubeVirt(ctx context.Context, r record, made kubevirt.Made, abilities kubevirt.Abilities) error {
	if err := l.kubectl(r).command("label", "node", l.member(1).node.Name(), controlPlaneLabel, "--overwrite").Run(ctx); err != nil {
		return err
	}
	operator, err := made.Operator()
	if err != nil {
		return err
	}
	if err := l.kubectl(r).apply(ctx, operator); err != nil {
		return err
	}
	object, err := renderKubeVirt(abilities)
	if err != nil {
		return err
	}
	// Its kind is served a moment later, and while virt-operator starts again nothing admits
	// changes.
	return pollFor(ctx, kubeVirtTimeout, pollInterval, func(ctx context.Context) error {
		return l.kubectl(r).apply(ctx, object)
	})
}

// renderKubeVirt renders the object that asks virt-operator for KubeVirt.
func renderKubeVirt(abilities kubevirt.Abilities) (string, error) {
	parsed, err := template.New("kubevirt.yaml").Parse(manifests.KubeVirt)
	if err != nil {
		return "", fmt.Errorf("reading KubeVirt's manifest: %w", err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, struct{ UseEmulation bool }{!abilities.KVM}); err != nil {
		return "", fmt.Errorf("rendering KubeVirt's manifest: %w", err)
	}
	return out.String(), nil
}

// The parts of objects that show how far KubeVirt is.
type (
	kubeVirtObject struct {
		Status struct {
			Phase      string
			Conditions []condition
		}
	}
	schedulableNode struct {
		Metadata struct{ Labels map[string]string }
		Status   struct{ Allocatable map[string]string }
	}
)

// waitForKubeVirt waits until virt-operator reports that all is deployed, each component runs with
// the wanted image since the node's start, and every node that runs accepts guests.
func (l Lab) waitForKubeVirt(ctx context.Context, r record, made kubevirt.Made) error {
	lastReport := time.Now()
	return pollFor(ctx, kubeVirtTimeout, 5*pollInterval, func(ctx context.Context) error {
		err := l.askForKubeVirt(ctx, r, made)
		if err != nil && time.Since(lastReport) > reportInterval {
			l.Log.Printf("waiting: %v", err)
			lastReport = time.Now()
		}
		return err
	})
}

// reportInterval is the time between lines that show what the lab waits for.
const reportInterval = 20 * time.Second

// askForKubeVirt returns an error that names what of KubeVirt is still missing.
func (l Lab) askForKubeVirt(ctx context.Context, r record, made kubevirt.Made) error {
	var object kubeVirtObject
	if err := l.getKubeVirt(ctx, r, &object); err != nil {
		return err
	}
	if err := object.deployed(); err != nil {
		return err
	}
	var pods podList
	if err := l.kubectl(r).get(ctx, &pods, "pods", "--namespace="+kubevirt.Namespace); err != nil {
		return err
	}
	for name, image := range made.Images() {
		if !pods.with(name, image).ready(r.since()) {
			return fmt.Errorf("%s is not ready", name)
		}
	}
	known, err := l.members()
	if err != nil {
		return err
	}
	for _, m := range known {
		if err := m.askForGuests(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// askForGuests returns an error if the node runs and takes no guests.
func (m member) askForGuests(ctx context.Context, first record) error {
	if _, err := m.running(); errors.Is(err, ErrNotUp) {
		return nil
	} else if err != nil {
		return err
	}
	var n schedulableNode
	if err := m.lab.kubectl(first).get(ctx, &n, "node", m.node.Name()); err != nil {
		return err
	}
	if err := n.takesGuests(); err != nil {
		return fmt.Errorf("%s: %w", m.node.Name(), err)
	}
	return nil
}

func (l Lab) getKubeVirt(ctx context.Context, r record, into *kubeVirtObject, flags ...string) error {
	args := append([]string{"kubevirt", "kubevirt", "--namespace=" + kubevirt.Namespace}, flags...)
	return l.kubectl(r).get(ctx, into, args...)
}

func (o kubeVirtObject) deployed() error {
	if o.Status.Phase == "" {
		return errors.New("virt-operator has not begun")
	}
	if o.Status.Phase != "Deployed" {
		return fmt.Errorf("KubeVirt's phase is %q", o.Status.Phase)
	}
	is := map[string]string{}
	for _, c := range o.Status.Conditions {
		is[c.Type] = c.Status
	}
	if is["Available"] != "True" || is["Progressing"] == "True" || is["Degraded"] == "True" {
		return fmt.Errorf("KubeVirt is not available: its conditions are %v", is)
	}
	return nil
}

// takesGuests checks that virt-handler has marked the node as one that runs guests, and has
// registered its devices with the kubelet.
func (n schedulableNode) takesGuests() error {
	if n.Metadata.Labels["kubevirt.io/schedulable"] != "true" {
		return errors.New("virt-handler does not say that the node takes guests")
	}
	if tun := n.Status.Allocatable["devices.kubevirt.io/tun"]; tun == "" || tun == "0" {
		return errors.New("the kubelet has no tun devices for guests")
	}
	return nil
}

// with returns the pods of a component that use an image.
func (p podList) with(component, image string) podList {
	var found podList
	for _, item := range p.Items {
		containers := item.Spec.Containers
		if item.Metadata.Labels["kubevirt.io"] == component && len(containers) > 0 && containers[0].Image == image {
			found.Items = append(found.Items, item)
		}
	}
	return found
}
