package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/installed"
	"vnfbench.io/operator/internal/placement"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/preview"
	"vnfbench.io/operator/internal/records"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/validate"
)

const planHelp = `Show what a run is, or would be: nodes, pods, images, ports with their addresses, and
how long its trials take.

RUN is a run of the cluster. If the operator has planned it, this is that plan. FILE is a
manifest, "-" the standard input: each run in it is planned with the Testbed of the
file or, where it has none, with that of the cluster, and with the cluster's nodes and the
operator's images. MAC addresses and bridges follow from the Testbed's UID, and names of
pods from the run's, which only the cluster gives: those of a file are examples.

With --offline no cluster is asked: the file needs the Testbed too, and nodes, networks
and devices are assumed to be as the Testbed asks for.

The time is that of the trials. A search needs fewer or more, and the pods need some
20 s to start, virtual machines a minute. A name of a run that ends as files do is
run/NAME.

Exit codes: 0 there is a plan, 1 the run cannot be planned or the manifest is wrong, 2 any
other error.`

// planning is what the user asks for.
type planning struct {
	format  string
	offline bool
}

// The way in which a plan was made.
const (
	madeByOperator = "stored by the operator"
	madeNow        = "made now, for the cluster as it is"
	madeOffline    = "made for nodes, networks, devices and images that are assumed"
)

// shownPlan is a plan with the way in which it was made.
type shownPlan struct {
	Made string `json:"made"`
	preview.Preview
}

func newPlanCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var p planning
	command := &cobra.Command{
		Use:   "plan {RUN | FILE}",
		Short: "Show nodes, pods, addresses and duration of a run",
		Long:  planHelp,
		Example: "  kubectl vnfbench plan router\n" +
			"  kubectl vnfbench plan router.yaml\n" +
			"  cat testbed.yaml router.yaml | kubectl vnfbench plan - --offline",
		Args:              runOrFile,
		ValidArgsFunction: orManifests(completeRuns(connect)),
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkFormat(p.format); err != nil {
				return err
			}
			plans, err := p.plans(command.Context(), args[0], streams, connect)
			if err != nil {
				return failedPlan(err)
			}
			return writePlans(streams.Out, p.format, plans)
		},
	}
	command.Flags().BoolVar(&p.offline, "offline", false, "ask no cluster: take the Testbed of the file, and assume the rest")
	addFormat(command, &p.format)
	return command
}

// runOrFile accepts one name of a run or of a file.
func runOrFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("give one name of a BenchmarkRun or of a file with manifests, not %d", len(args))
	}
	return nil
}

// isManifest reports whether an argument is the name of a file with manifests, and not that of a run.
func isManifest(argument string) bool {
	if isDocument(argument) {
		return true
	}
	for _, extension := range manifestExtensions {
		if strings.HasSuffix(argument, "."+extension) && !strings.Contains(argument, "/") {
			return true
		}
	}
	return strings.Contains(argument, "/") && kindNamed(argument[:strings.Index(argument, "/")]) == ""
}

// orManifests offers files with manifests where no run's name begins with the word, or no cluster answers.
func orManifests(runs cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names, directive := runs(command, args, word)
		for _, name := range names {
			if strings.HasPrefix(name, word) {
				return names, directive
			}
		}
		return completeManifests(command, args, word)
	}
}

// notPlanned is the error of a run that has no plan.
type notPlanned struct{ error }

// failedPlan gives a run without a plan its exit code.
func failedPlan(err error) error {
	if errors.As(err, new(notPlanned)) {
		return &exit{exitFailed, err}
	}
	return err
}

func (p planning) plans(ctx context.Context, argument string, streams genericiooptions.IOStreams, connect func() (*cluster, error)) ([]shownPlan, error) {
	if isManifest(argument) {
		return p.ofFile(ctx, argument, streams, connect)
	}
	if p.offline {
		return nil, fmt.Errorf("--offline is for files: %q is the name of a run", argument)
	}
	kind, name, err := kindOf(argument)
	if err == nil && kind != kindRun {
		err = fmt.Errorf("%q is no BenchmarkRun: plans are of runs", argument)
	}
	if err != nil {
		return nil, err
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	run, err := c.run(ctx, name)
	if err != nil {
		return nil, err
	}
	made, err := records.Plan(ctx, c.client, run)
	switch {
	case err != nil:
		return nil, err
	case made != nil:
		return []shownPlan{{madeByOperator, preview.Of(made)}}, nil
	}
	shown, err := c.planNow(ctx, run, nil)
	return []shownPlan{shown}, err
}

// ofFile plans the runs of a file.
func (p planning) ofFile(ctx context.Context, file string, streams genericiooptions.IOStreams, connect func() (*cluster, error)) ([]shownPlan, error) {
	documents, findings, err := readManifests([]string{file}, streams.In)
	if err != nil {
		return nil, err
	}
	checked, err := admitDocuments(ctx, documents)
	if err != nil {
		return nil, err
	}
	if findings = append(findings, checked...); len(findings) > 0 {
		return nil, notPlanned{fmt.Errorf("the manifest is wrong; `kubectl vnfbench validate` lists everything: %s: %s", strings.TrimSpace(findings[0].Object+" "+findings[0].Field), findings[0].Message)}
	}
	testbeds, runs, err := typed(documents)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s has no BenchmarkRun: plans are of runs", file)
	}
	var c *cluster
	if !p.offline {
		if c, err = connect(); err != nil {
			return nil, err
		}
	}
	var out []shownPlan
	for i := range runs {
		shown, err := p.ofRun(ctx, c, &runs[i], testbedOf(&runs[i], testbeds))
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}

// ofRun plans a run of a file; the testbed is nil where the file has none.
func (p planning) ofRun(ctx context.Context, c *cluster, run *v1alpha1.BenchmarkRun, testbed *v1alpha1.Testbed) (shownPlan, error) {
	if c != nil {
		if run.Namespace == "" {
			run.Namespace = c.namespace
		}
		return c.planNow(ctx, run, testbed)
	}
	if testbed == nil {
		return shownPlan{}, notPlanned{fmt.Errorf("BenchmarkRun %s: the file has no Testbed of it, and --offline asks no cluster", run.Name)}
	}
	run.Namespace = cmp.Or(run.Namespace, metav1.NamespaceDefault)
	return makePlan(preview.Assume(run, testbed), madeOffline)
}

// makePlan plans a run.
func makePlan(in plan.Input, made string) (shownPlan, error) {
	p, err := plan.Make(in)
	if err != nil {
		return shownPlan{}, notPlanned{fmt.Errorf("BenchmarkRun %s on Testbed %s: %w", in.Run.Name, in.Testbed.Name, err)}
	}
	return shownPlan{made, preview.Of(p)}, nil
}

// typed returns the Testbeds and runs of documents that were admitted.
func typed(documents []validate.Document) (testbeds []v1alpha1.Testbed, runs []v1alpha1.BenchmarkRun, err error) {
	for _, d := range documents {
		if d.Object.GroupVersionKind().GroupVersion() != v1alpha1.GroupVersion {
			continue
		}
		switch d.Object.GetKind() {
		case "Testbed":
			testbeds = append(testbeds, v1alpha1.Testbed{})
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, &testbeds[len(testbeds)-1])
		case kindRun:
			runs = append(runs, v1alpha1.BenchmarkRun{})
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, &runs[len(runs)-1])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: reading %s %q: %w", d.File, d.Object.GetKind(), d.Object.GetName(), err)
		}
	}
	return testbeds, runs, nil
}

// testbedOf returns the Testbed of a run among some, or nil.
func testbedOf(run *v1alpha1.BenchmarkRun, testbeds []v1alpha1.Testbed) *v1alpha1.Testbed {
	name := run.TestbedName()
	if name == "" {
		return queue.Default(testbeds)
	}
	for i := range testbeds {
		if testbeds[i].Name == name {
			return &testbeds[i]
		}
	}
	return nil
}

// planNow plans a run as the operator would at the moment, with a testbed of the cluster if there is none.
func (c *cluster) planNow(ctx context.Context, run *v1alpha1.BenchmarkRun, testbed *v1alpha1.Testbed) (shownPlan, error) {
	if testbed == nil {
		var list v1alpha1.TestbedList
		if err := c.client.List(ctx, &list); err != nil {
			return shownPlan{}, fmt.Errorf("listing Testbeds: %w", explain(err))
		}
		if testbed = testbedOf(run, list.Items); testbed == nil {
			return shownPlan{}, notPlanned{fmt.Errorf("BenchmarkRun %s: the cluster has no Testbed %q, or, where the run names none, no default", run.Name, run.TestbedName())}
		}
	}
	in := plan.Input{Run: run, Testbed: testbed, Defaults: preview.Defaults()}
	var nodes corev1.NodeList
	if err := c.client.List(ctx, &nodes); err != nil {
		return shownPlan{}, fmt.Errorf("listing nodes, without which there is no plan (--offline assumes some): %w", err)
	}
	in.Nodes = nodes.Items
	var err error
	if in.Requested, err = c.requested(ctx, plan.Choice(testbed, nodes.Items)); err != nil {
		return shownPlan{}, err
	}
	if in.Networks, in.NetworkResources, err = c.networks(ctx, run, testbed); err != nil {
		return shownPlan{}, err
	}
	kind := kubevirtv1.VirtualMachineInstanceGroupVersionKind
	if _, err := c.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil && !meta.IsNoMatchError(err) {
		return shownPlan{}, fmt.Errorf("looking for the kind %s: %w", kind.Kind, err)
	} else if err == nil {
		in.KubeVirt = true
	}
	var operators appsv1.DeploymentList
	switch err := c.client.List(ctx, &operators, client.MatchingLabels(installed.Labels())); {
	case err != nil && !apierrors.IsForbidden(err):
		return shownPlan{}, fmt.Errorf("looking for the operator: %w", err)
	case len(operators.Items) > 0:
		in.Defaults = installed.Defaults(&operators.Items[0])
	}
	return makePlan(in, madeNow)
}

// maxCountedNodes is the number of nodes whose pods are read, as the operator does.
const maxCountedNodes = 32

// requested returns what pods request on nodes; nothing is known to a user who may not list the pods of all namespaces.
func (c *cluster) requested(ctx context.Context, nodes []string) (map[string]corev1.ResourceList, error) {
	found := map[string]corev1.ResourceList{}
	for _, node := range nodes[:min(len(nodes), maxCountedNodes)] {
		var pods corev1.PodList
		err := c.client.List(ctx, &pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", node)})
		if apierrors.IsForbidden(err) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing the pods of node %q: %w", node, err)
		}
		var requests placement.Requests
		for i := range pods.Items {
			requests.Add(&pods.Items[i])
		}
		found[node] = requests.Total()
	}
	return found, nil
}

// networks returns the networks that the run's pods may join, and the resources of device plugins in them; nil where the cluster does
// not know the kind. What the user may not list counts as absent, and the plan's error names it.
func (c *cluster) networks(ctx context.Context, run *v1alpha1.BenchmarkRun, testbed *v1alpha1.Testbed) (names map[string]bool, resources map[string]string, err error) {
	names, resources = map[string]bool{}, map[string]string{}
	for _, namespace := range plan.NetworkNamespaces(run, testbed) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kinds.NetworkAttachmentDefinition)
		switch err := c.client.List(ctx, list, client.InNamespace(namespace)); {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			return nil, nil, nil
		case apierrors.IsForbidden(err):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("listing NetworkAttachmentDefinitions: %w", err)
		}
		for _, item := range list.Items {
			end := plan.End{Network: item.Name}
			if namespace != run.Namespace {
				end.NetworkNamespace = namespace
			}
			names[end.NetworkKey()] = true
			if resource := item.Annotations[kinds.AnnotationResource]; resource != "" {
				resources[end.NetworkKey()] = resource
			}
		}
	}
	return names, resources, nil
}

func writePlans(w io.Writer, format string, plans []shownPlan) error {
	if format == formatJSON {
		return writeJSON(w, struct {
			APIVersion string      `json:"apiVersion"`
			Kind       string      `json:"kind"`
			Plans      []shownPlan `json:"plans"`
		}{report.APIVersion, "RunPlans", plans})
	}
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := writePlan(w, p); err != nil {
			return err
		}
	}
	return nil
}

func writePlan(w io.Writer, p shownPlan) error {
	sizes := strings.Join(p.Sizes, ", ")
	if sizes == "" {
		sizes = "none"
	}
	head := fmt.Sprintf("BenchmarkRun %s on Testbed %s: about %s of trials\n  plan:   %s\n  nodes:  generator %s, chain %s\n  driver: %s\n  sizes:  %s\n",
		p.Run, p.Testbed, time.Duration(p.EstimatedSeconds)*time.Second, p.Made, p.GeneratorNode, p.DeviceNode, p.Driver, sizes)
	for _, s := range p.Streams {
		head += fmt.Sprintf("  %s: %s -> %s\n", s.Direction, s.Source, s.Destination)
	}
	// A plan's ConfigMap decides what is in it.
	if _, err := io.WriteString(w, excerpt.Printable(head)+"\n"); err != nil {
		return err
	}
	var pods, ports [][]string
	for _, pod := range p.Pods {
		pods = append(pods, []string{pod.Role, pod.Name, string(pod.Runtime), pod.Node, fmt.Sprintf("%dm", pod.RequestMilliCPU), fmt.Sprintf("%dMi", pod.MemoryBytes>>20), pod.Image})
	}
	for _, port := range p.Ports {
		var addresses []string
		for _, a := range port.Addresses {
			addresses = append(addresses, a.String())
		}
		vlan := "-"
		if port.VLAN != 0 {
			vlan = fmt.Sprint(port.VLAN)
		}
		ports = append(ports, []string{port.Of, port.Interface, port.MAC, fmt.Sprint(port.MTUBytes), vlan, port.Through, strings.Join(addresses, " ")})
	}
	if err := writeTable(w, []string{"ROLE", "NAME", "RUNTIME", "NODE", "CPU", "MEMORY", "IMAGE"}, pods); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTable(w, []string{"PORT OF", "INTERFACE", "MAC", "MTU", "VLAN", "THROUGH", "ADDRESSES"}, ports)
}
