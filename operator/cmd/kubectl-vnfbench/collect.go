package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/bundle"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/doctor"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/installed"
	"vnfbench.io/operator/internal/plan"
)

const collectHelp = `Pack what helps to explain a run into one file, to be added to a report of a fault.

It has the run, its Testbed, suite execution and nodes, the objects that the operator made
for it with plan and trials, their events, the logs of the pods, what the operator's
log says of the run, the operator's Deployment, the versions, and what "doctor" finds.

No Secret is read. What looks like a password, a token or a private key is replaced, and
so are the user data of virtual machines. README.txt in the file lists what was replaced
and what was left out, such as what you may not read. Names of hosts, addresses and
images stay: look through the file before you pass it on.`

// collecting is what the user asks for.
type collecting struct{ outputFile string }

func newCollectCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var o collecting
	command := &cobra.Command{
		Use:   "collect RUN",
		Short: "Pack what helps to explain a run, without secrets",
		Long:  collectHelp,
		Example: "  kubectl vnfbench collect router\n" +
			"  kubectl vnfbench collect router --output-file fault.tar.gz",
		Args:              runName,
		ValidArgsFunction: completeRuns(connect),
		RunE: func(command *cobra.Command, args []string) error {
			c, err := connect()
			if err != nil {
				return err
			}
			run, err := c.run(command.Context(), args[0])
			if err != nil {
				return err
			}
			packed, err := c.collect(command.Context(), run)
			if err != nil {
				return err
			}
			if o.outputFile == standardStream {
				return packed.Write(streams.Out, time.Now())
			}
			file := o.outputFile
			if file == "" {
				file = run.Name + ".tar.gz"
			}
			if err := writeBundle(file, packed); err != nil {
				return err
			}
			fmt.Fprintf(streams.Out, "%s has %s\n", file, plural(int32(packed.Files()), "file"))
			for _, left := range packed.Left() {
				fmt.Fprintf(streams.ErrOut, "note: left out: %s\n", excerpt.Line(left, maxLeft))
			}
			return nil
		},
	}
	command.Flags().StringVar(&o.outputFile, "output-file", "", "write to this file, or with - to the standard output; absent: RUN.tar.gz")
	return command
}

// maxLeft is how long a note is.
const maxLeft = 400

// writeBundle writes a bundle into a new file that its user alone can read.
func writeBundle(name string, packed *bundle.Bundle) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already: give another name with --output-file", name)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return packed.Write(file, time.Now())
}

// ofRun are the kinds of what the operator makes for a run. Secrets are none of them.
var ofRun = []schema.GroupVersionKind{
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	kinds.NetworkAttachmentDefinition,
	kubevirtv1.VirtualMachineInstanceGroupVersionKind,
}

// collector fills a bundle.
type collector struct {
	*cluster
	*bundle.Bundle
	run *v1alpha1.BenchmarkRun
	// uids are those of all objects that are collected.
	uids map[string]bool
}

// collect packs what is known of a run. What cannot be read is left out, with the cause.
func (c *cluster) collect(ctx context.Context, run *v1alpha1.BenchmarkRun) (*bundle.Bundle, error) {
	k := &collector{cluster: c, Bundle: bundle.New(bundle.Name(run.Name)), run: run, uids: map[string]bool{}}
	k.object("run.yaml", run)
	k.LeaveOut("Secrets", "none is read")
	k.testbed(ctx)
	k.execution(ctx)
	k.nodes(ctx)
	k.owned(ctx)
	k.events(ctx)
	k.podLogs(ctx)
	k.operator(ctx)
	k.check(ctx)
	// A bundle that was interrupted says of its rest that it was.
	return k.Bundle, ctx.Err()
}

// object adds an object, with its kind.
func (k *collector) object(name string, o client.Object) {
	if o.GetObjectKind().GroupVersionKind().Empty() {
		if kind, err := apiutil.GVKForObject(o, k.client.Scheme()); err == nil {
			o.GetObjectKind().SetGroupVersionKind(kind)
		}
	}
	k.uids[string(o.GetUID())] = true
	if err := k.AddObject(name, o); err != nil {
		k.LeaveOut(name, err.Error())
	}
}

// get adds one object.
func (k *collector) get(ctx context.Context, name string, key client.ObjectKey, o client.Object) bool {
	if err := k.client.Get(ctx, key, o); err != nil {
		k.LeaveOut(name, err.Error())
		return false
	}
	k.object(name, o)
	return true
}

func (k *collector) testbed(ctx context.Context) {
	if name := k.run.TestbedName(); name != "" {
		k.get(ctx, "testbed.yaml", client.ObjectKey{Name: name}, &v1alpha1.Testbed{})
		return
	}
	k.LeaveOut("testbed.yaml", "the run names none, and none was found for it")
}

func (k *collector) execution(ctx context.Context) {
	if owner := metav1.GetControllerOf(k.run); owner != nil && owner.Kind == kindSuiteRun {
		k.get(ctx, "suiterun.yaml", client.ObjectKey{Namespace: k.run.Namespace, Name: owner.Name}, &v1alpha1.BenchmarkSuiteRun{})
	}
}

func (k *collector) nodes(ctx context.Context) {
	p := k.run.Status.Plan
	if p == nil {
		k.LeaveOut("nodes", "the run has no plan, and so none")
		return
	}
	for _, name := range slices.Compact([]string{p.GeneratorNode, p.DeviceNode}) {
		var node corev1.Node
		file := "nodes/" + bundle.Name(name) + ".yaml"
		if err := k.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			k.LeaveOut(file, err.Error())
			continue
		}
		// Images of everyone who uses the node are no part of the run.
		node.Status.Images = nil
		k.object(file, &node)
	}
}

// owned adds what the operator has made for the run.
func (k *collector) owned(ctx context.Context) {
	for _, kind := range ofRun {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := k.client.List(ctx, list, client.InNamespace(k.run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: string(k.run.UID)})
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			k.LeaveOut(kind.Kind, "the cluster does not know the kind")
		case err != nil:
			k.LeaveOut(kind.Kind, err.Error())
		case len(list.Items) == 0:
			k.LeaveOut(kind.Kind, "the run has none at the moment")
		}
		for i := range list.Items {
			k.object(fmt.Sprintf("objects/%s-%s.yaml", strings.ToLower(kind.Kind), bundle.Name(list.Items[i].GetName())), &list.Items[i])
		}
	}
}

// events adds those about the run and about what it has or had: names of its objects begin in the same way.
func (k *collector) events(ctx context.Context) {
	var events corev1.EventList
	if err := k.client.List(ctx, &events, client.InNamespace(k.run.Namespace)); err != nil {
		k.LeaveOut("events.txt", err.Error())
		return
	}
	base := plan.NamesOf(k.run).Base
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return timeOf(a).Compare(timeOf(b)) })
	var text strings.Builder
	for _, e := range events.Items {
		about := e.InvolvedObject
		if (about.UID == "" || !k.uids[string(about.UID)]) && !strings.HasPrefix(about.Name, base) {
			continue
		}
		fmt.Fprintf(&text, "%s %s %s %s/%s (%d times): %s\n", timeOf(e).UTC().Format(time.RFC3339), e.Type, e.Reason, about.Kind, about.Name, max(e.Count, 1), strings.Join(strings.Fields(e.Message), " "))
	}
	if text.Len() == 0 {
		k.LeaveOut("events.txt", "the cluster has no events about the run any more")
		return
	}
	k.Add("events.txt", []byte(text.String()))
}

// timeOf returns when an event was last seen.
func timeOf(e corev1.Event) time.Time {
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return e.CreationTimestamp.Time
}

// maxLogBytes is how much of the end of a log is collected.
const maxLogBytes = 8 << 20

func (k *collector) podLogs(ctx context.Context) {
	pods, err := k.podsOf(ctx, k.run)
	if err != nil {
		k.LeaveOut("logs", err.Error())
		return
	}
	if len(pods) == 0 {
		k.LeaveOut("logs", "the run has no pod: it waits, or the operator has deleted them")
		return
	}
	for _, l := range []logging{{}, {previous: true}} {
		for _, c := range l.containersOf(pods) {
			name := fmt.Sprintf("logs/%s-%s.log", bundle.Name(c.pod.Name), bundle.Name(c.name))
			if l.previous {
				name = strings.TrimSuffix(name, ".log") + "-previous.log"
			}
			if text, err := k.logOf(ctx, c, l.previous); err != nil {
				k.LeaveOut(name, err.Error())
			} else {
				k.Add(name, text)
			}
		}
	}
}

// logOf reads the end of a container's log.
func (k *collector) logOf(ctx context.Context, c container, previous bool) ([]byte, error) {
	open, err := k.logs()
	if err != nil {
		return nil, err
	}
	log, err := open(ctx, c.pod, &corev1.PodLogOptions{Container: c.name, Previous: previous, Timestamps: true})
	if err != nil {
		return nil, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = log.Close() }()
	return endOf(log, maxLogBytes)
}

// endOf returns at most so many bytes of the end of a stream.
func endOf(from io.Reader, most int) ([]byte, error) {
	var kept []byte
	cut := false
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		kept = append(kept, buffer[:n]...)
		if len(kept) > 2*most {
			kept, cut = slices.Clone(kept[len(kept)-most:]), true
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	if len(kept) > most {
		kept, cut = kept[len(kept)-most:], true
	}
	if cut {
		kept = append([]byte("(the beginning was left out)\n"), kept...)
	}
	return kept, nil
}

// operator adds the operator's Deployment, and what its log says of the run.
func (k *collector) operator(ctx context.Context) {
	var operators appsv1.DeploymentList
	if err := k.client.List(ctx, &operators, client.MatchingLabels(installed.Labels())); err != nil {
		k.LeaveOut("operator", err.Error())
		return
	}
	if len(operators.Items) == 0 {
		k.LeaveOut("operator", "no Deployment has its labels")
		return
	}
	for i := range operators.Items {
		d := &operators.Items[i]
		k.object("operator/"+bundle.Name(d.Namespace+"-"+d.Name)+".yaml", d)
		var pods corev1.PodList
		if err := k.client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(installed.Labels())); err != nil {
			k.LeaveOut("operator's log", err.Error())
			continue
		}
		for _, c := range (logging{}).containersOf(pods.Items) {
			name := fmt.Sprintf("operator/%s-%s.log", bundle.Name(c.pod.Name), bundle.Name(c.name))
			text, err := k.logOf(ctx, c, false)
			if err != nil {
				k.LeaveOut(name, err.Error())
				continue
			}
			k.Add(name, aboutRun(text, k.run))
		}
	}
	k.LeaveOut("lines of the operator's log that do not name the run", "they are about others")
}

// aboutRun returns the lines of a log that name a run and its namespace. Others can have names with the same beginning or end.
func aboutRun(log []byte, run *v1alpha1.BenchmarkRun) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(log)) {
		if hasName(line, run.Name) && hasName(line, run.Namespace) {
			out.WriteString(line)
		}
	}
	return []byte(out.String())
}

// hasName returns whether a text has a name as a whole, not as a part of a longer one. Names begin and end with a letter or a digit, so a
// dot or a dash belongs to one only if there is a further letter or digit next to it: "router." at the end of a sentence is the name router.
func hasName(text, name string) bool {
	const marks = ".-"
	isPart := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, after := strings.TrimRight(text[:at], marks), strings.TrimLeft(text[at+len(name):], marks)
		if (before == "" || !isPart(before[len(before)-1])) && (after == "" || !isPart(after[0])) {
			return true
		}
		from = at + len(name)
	}
}

// check adds the versions, and what the doctor finds.
func (k *collector) check(ctx context.Context) {
	versions := map[string]string{"plugin": version}
	defer func() {
		var text strings.Builder
		if err := writeJSON(&text, versions); err != nil {
			k.LeaveOut("versions.json", err.Error())
			return
		}
		k.Add("versions.json", []byte(text.String()))
	}()
	if k.config == nil {
		k.LeaveOut("doctor.json", "there is no connection to the cluster")
		return
	}
	facts, err := k.survey(ctx)
	if err != nil {
		k.LeaveOut("doctor.json", err.Error())
		return
	}
	versions["server"] = facts.Version.Value
	for _, d := range facts.Operators.Value {
		for _, c := range d.Spec.Template.Spec.Containers {
			versions["operator "+d.Namespace+"/"+d.Name+", "+c.Name] = c.Image
		}
	}
	for _, v := range facts.KubeVirts.Value {
		versions["KubeVirt"] = v.Status.ObservedKubeVirtVersion
	}
	var text strings.Builder
	if err := writeFindings(&text, formatJSON, facts, doctor.Examine(facts)); err != nil {
		k.LeaveOut("doctor.json", err.Error())
		return
	}
	k.Add("doctor.json", []byte(text.String()))
}
