package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
)

// observe reads everything that a decision may need. Nothing else reads.
func (r *Reconciler) observe(ctx context.Context, run *v1alpha1.BenchmarkRun) (*scope, error) {
	// Only in memory: what the user wrote stays in the cluster.
	run.Spec.Experiment.Measurements = run.Spec.Experiment.Measurements.Filled()
	s := &scope{now: r.Clock.Now(), run: run, names: plan.NamesOf(run), awaitsArchive: r.Defaults.AwaitsArchive, withoutConsoles: r.Defaults.WithoutConsoles}
	for _, read := range []func(context.Context, *scope) error{
		r.readWorkloads, r.readVMs, r.readTestbed, r.readRemains, r.readPlan, r.readRecords, r.readArchived, r.readQueue, r.readBaseline, r.readInput, r.readIssuer, r.readAPIServer, r.readRights, r.readJobEvents, r.readEvents, r.readConsole,
	} {
		if err := read(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readWorkloads reads the Job and the pods.
func (r *Reconciler) readWorkloads(ctx context.Context, s *scope) error {
	return readWorkloads(ctx, r.Client, s, r.cachedPods)
}

// readRemains reads them without the cache before the testbed is released: a new Job may
// not be in the cache yet, and the next run must not meet its pod.
func (r *Reconciler) readRemains(ctx context.Context, s *scope) error {
	if s.podsRemain() {
		return r.forgetUnreadable(ctx, s)
	}
	if !queue.Occupies(s.run) || queue.Wants(s.run) && s.holds() {
		return nil
	}
	return r.unlessTerminating(ctx, s, readWorkloads(ctx, r.Reader, s, r.storedPods))
}

// forgetUnreadable drops what the cache still has of a deleted run, where the namespace is being deleted too and the
// operator may no longer read it: with watchNamespaces its rights go with the namespace, and no watch reports the end
// of a pod there. The pods first get their time to end.
func (r *Reconciler) forgetUnreadable(ctx context.Context, s *scope) error {
	if s.run.DeletionTimestamp.IsZero() || s.now.Before(s.run.DeletionTimestamp.Add(heldTimeout)) {
		return nil
	}
	err := readWorkloads(ctx, r.Reader, &scope{now: s.now, run: s.run, names: s.names}, r.storedPods)
	if err == nil || r.unlessTerminating(ctx, s, err) != nil {
		return nil
	}
	s.job, s.measurers, s.chainPods, s.vms = nil, nil, nil, nil
	return nil
}

// readWorkloads reads them with or without the cache. What is kept of them is the same.
func readWorkloads(ctx context.Context, reader client.Reader, s *scope, podsOf func(context.Context, *scope) ([]corev1.Pod, error)) error {
	job := &batchv1.Job{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: s.names.Job}, job)
	switch {
	case err == nil:
		keepJob(job)
		s.job = job
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading Job %q: %w", s.names.Job, err)
	}
	pods, err := podsOf(ctx, s)
	if err != nil {
		return fmt.Errorf("listing the run's pods: %w", err)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods {
		if left, held := heldFor(&pod, s.now); held && left <= 0 || s.isLate(&pod) || !s.isOwn(&pod) {
			continue
		}
		if pod.Labels[v1alpha1.LabelComponent] == chain.ComponentMeasurer {
			s.measurers = append(s.measurers, pod)
		} else {
			s.chainPods = append(s.chainPods, pod)
		}
	}
	return nil
}

// ofRun selects the objects with the run's label.
func (s *scope) ofRun() client.ListOption {
	return &client.ListOptions{Namespace: s.run.Namespace, LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelRun: string(s.run.UID)})}
}

func (r *Reconciler) cachedPods(ctx context.Context, s *scope) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, s.ofRun())
	return pods.Items, err
}

// storedPods reads the pods without the cache.
func (r *Reconciler) storedPods(ctx context.Context, s *scope) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	var list corev1.PodList
	_, err := r.pages.read(ctx, r.Reader, &list, 0, func() error {
		for i := range list.Items {
			keepPod(&list.Items[i])
		}
		pods = append(pods, list.Items...)
		return nil
	}, s.ofRun())
	return pods, err
}

// readTestbed reads the testbed, without the cache if a decision to make or delete objects
// depends on who holds it.
func (r *Reconciler) readTestbed(ctx context.Context, s *scope) error {
	if s.run.TestbedName() == "" {
		return r.readDefaultTestbed(ctx, s)
	}
	testbed, err := getTestbed(ctx, r.Client, s.run)
	if err != nil {
		return err
	}
	holds := testbed != nil && queue.Holds(testbed, s.run)
	if queue.Wants(s.run) && (holds != queue.Occupies(s.run) || holds && s.job == nil) {
		if testbed, err = getTestbed(ctx, r.Reader, s.run); err != nil {
			return err
		}
	}
	s.testbed = testbed
	return nil
}

// readDefaultTestbed finds the cluster's default for a run that names no testbed.
// The status keeps its name.
func (r *Reconciler) readDefaultTestbed(ctx context.Context, s *scope) error {
	if queue.Finished(s.run) || !s.run.DeletionTimestamp.IsZero() {
		return nil
	}
	var testbeds v1alpha1.TestbedList
	if err := r.Client.List(ctx, &testbeds); err != nil {
		return fmt.Errorf("listing Testbeds: %w", err)
	}
	s.testbed = queue.Default(testbeds.Items)
	return nil
}

func getTestbed(ctx context.Context, reader client.Reader, run *v1alpha1.BenchmarkRun) (*v1alpha1.Testbed, error) {
	testbed := &v1alpha1.Testbed{}
	key := client.ObjectKey{Name: run.TestbedName()}
	if err := reader.Get(ctx, key, testbed); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Testbed %q: %w", key.Name, err)
	}
	return testbed, nil
}

// readPlan reads the plan of a run that is measured. It reads without the cache: a plan that was
// just stored must not be made a second time.
func (r *Reconciler) readPlan(ctx context.Context, s *scope) error {
	if !s.measures() {
		return nil
	}
	configMap, err := r.configMap(ctx, s.run.Namespace, s.names.Plan)
	if err != nil || configMap == nil {
		return err
	}
	s.storedDigest = plan.Sum(configMap.Data)
	// A status that is older than the plan's ConfigMap takes no verdict: its version is not the latest.
	if stored := s.run.Status.Plan; stored == nil || stored.StoredDigest != s.storedDigest {
		s.planErr = errOtherPlan
		return nil
	}
	s.plan, s.planErr = plan.Parse([]byte(configMap.Data[plan.KeyPlan]))
	return nil
}

// errOtherPlan means that the plan's ConfigMap is not the one that the operator made.
var errOtherPlan = errors.New("it is not the one that the operator made")

// readRecords reads the results of a run that has not ended and has its testbed. It reads without
// the cache, and after Job and pods: what the operator itself has closed or deleted must not look
// like a loss.
func (r *Reconciler) readRecords(ctx context.Context, s *scope) error {
	if !queue.Occupies(s.run) || queue.Finished(s.run) || !s.run.DeletionTimestamp.IsZero() {
		r.memory.take(s.run.UID)
		return nil
	}
	configMap, err := r.configMap(ctx, s.run.Namespace, s.names.Results)
	if err != nil || configMap == nil {
		return err
	}
	k := r.memory.take(s.run.UID)
	k.see(s)
	s.serversDue = k.looksForServers(s.now)
	s.decode(configMap, k, r.chunks(ctx, s))
	if failed := (trialstore.Unanswered{}); errors.As(s.recordsErr, &failed) {
		r.memory.put(s.run.UID, k)
		return failed
	}
	logStack(ctx, s)
	if s.recordsErr == nil {
		r.memory.put(s.run.UID, k)
	}
	return nil
}

// decode reads the records, and evaluates them if they are not those that are kept, and a report is due or they are
// complete.
func (s *scope) decode(configMap *corev1.ConfigMap, k *kept, get trialstore.Get) {
	s.holder, s.later = holderOf(configMap), k.later(s.now)
	s.records, s.recordsErr = decodeRecords(configMap, &k.reading, get)
	if s.recordsErr != nil || s.plan == nil {
		return
	}
	now := evaluated{configMap.UID, configMap.ResourceVersion, s.storedDigest}
	same := now == k.of && now.version != ""
	s.stale = !same && now.head == k.of.head && now.plan == k.of.plan && s.later > 0 && !s.records.done
	if !same && !s.stale {
		s.evaluate()
		k.of, k.figures, k.foreign = now, s.figures, s.foreign
		k.report(s.now)
		return
	}
	s.figures, s.foreign = k.figures, k.foreign
}

// evaluate computes what follows from the records. Who may write ConfigMaps can store records that
// no procedure makes. A panic over them ends the run: otherwise it would come again at each
// reconciliation, and the run could neither end nor give its testbed back.
func (s *scope) evaluate() {
	defer func() {
		if problem := recover(); problem != nil {
			s.stack = debug.Stack()
			s.records, s.recordsErr = nil, fmt.Errorf("its records cannot be evaluated: %v", problem)
			s.figures, s.foreign = procedure.Figures{}, nil
		}
	}()
	s.figures = procedure.Evaluate(s.plan.Instructions, s.records.trials, procedure.Found{
		Generator: s.records.generator, Device: s.records.device, SameNode: s.plan.GeneratorNode == s.plan.DeviceNode,
	})
	if s.records.done {
		s.foreign = foreign(s.plan.Instructions, s.records.trials)
	}
}

// foreign returns an error if this operator's procedure does not end with the records of a
// measurer whose own procedure has ended. Both are of one version unless the operator was
// replaced during the run.
func foreign(instructions measure.Instructions, trials []measure.Record) error {
	next, err := procedure.Next(instructions, trials)
	switch {
	case err != nil:
		return err
	case !next.Done:
		return fmt.Errorf("a trial of stage %s would follow the %d that were made", next.Stage, len(trials))
	}
	return nil
}

// configMap reads a ConfigMap of the run without the cache, or returns nil.
func (r *Reconciler) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	configMap := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, configMap); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	return configMap, nil
}

// readQueue finds the run's place among those that wait.
func (r *Reconciler) readQueue(ctx context.Context, s *scope) error {
	if s.testbed == nil || s.holds() || !queue.Wants(s.run) {
		return nil
	}
	runs, err := r.unfinished(ctx, client.MatchingFields{queue.IndexUnfinished: s.testbed.Name})
	if err != nil {
		return fmt.Errorf("listing the runs of Testbed %q: %w", s.testbed.Name, err)
	}
	places, err := r.places(ctx, s.testbed, runs)
	if err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	s.setPlace(places)
	return nil
}

// readInput reads what a plan is made from, while there is none.
func (r *Reconciler) readInput(ctx context.Context, s *scope) error {
	if !s.measures() || s.plan != nil || s.planErr != nil {
		return nil
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	busy, err := r.busyNodes(ctx, s, plan.Choice(s.testbed, nodes.Items))
	if err != nil {
		return err
	}
	s.input, err = r.input(ctx, s, nodes.Items, busy)
	return err
}

// input reads the rest of what a plan is made from.
func (r *Reconciler) input(ctx context.Context, s *scope, nodes []corev1.Node, busy map[string]bool) (*plan.Input, error) {
	networks, resources, err := r.networks(ctx, s)
	if err != nil {
		return nil, err
	}
	requested, err := r.requested(ctx, plan.Choice(s.testbed, nodes))
	if err != nil {
		return nil, err
	}
	return &plan.Input{
		Run: s.run, Testbed: s.testbed, Nodes: nodes, Requested: requested, Busy: busy,
		Networks: networks, NetworkResources: resources, KubeVirt: s.kubeVirt, BaselineLoads: s.baselineLoads(), Defaults: r.Defaults,
	}, nil
}

// networks returns the networks that the run's pods may join, by their plan.End's
// NetworkKey, and the resources of device plugins in them; nil if the cluster does not know
// the kind.
func (r *Reconciler) networks(ctx context.Context, s *scope) (names map[string]bool, resources map[string]string, err error) {
	names, resources = map[string]bool{}, map[string]string{}
	for _, namespace := range plan.NetworkNamespaces(s.run, s.testbed) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
		_, err := r.pages.read(ctx, r.Reader, list, 0, func() error {
			for _, item := range list.Items {
				end := plan.End{Network: item.Name}
				if namespace != s.run.Namespace {
					end.NetworkNamespace = namespace
				}
				names[end.NetworkKey()] = true
				if resource := item.Annotations[chain.AnnotationResource]; resource != "" {
					resources[end.NetworkKey()] = excerpt.Text(resource, maxCachedBytes)
				}
			}
			return nil
		}, client.InNamespace(namespace))
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			return nil, nil, nil
		case apierrors.IsForbidden(err):
			// An operator with watchNamespaces: the plan reports that it sees no such network.
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("listing NetworkAttachmentDefinitions: %w", err)
		}
	}
	return names, resources, nil
}

// readEvents reads what the kubelet or the Job controller reported about an object that has
// not started in time.
func (r *Reconciler) readEvents(ctx context.Context, s *scope) error {
	object := s.stuck()
	if object == nil || queue.Finished(s.run) {
		return nil
	}
	var err error
	if s.events, err = r.eventsOf(ctx, object); err != nil {
		return err
	}
	s.events = s.quotableEvents(object.GetName(), s.events)
	return nil
}

// maxEventPages is the most pages of events that are read of one object. Users may write events: a run whose object has
// more continues with these, and ends with the reason that it has without them.
const maxEventPages = 10

func (r *Reconciler) eventsOf(ctx context.Context, object client.Object) ([]corev1.Event, error) {
	var events []corev1.Event
	var list corev1.EventList
	// By UID: pods of a run that was resumed have the names of earlier pods.
	about := client.MatchingFields{"involvedObject.uid": string(object.GetUID())}
	_, err := r.pages.read(ctx, r.Reader, &list, maxEventPages, func() error {
		for i := range list.Items {
			e := &list.Items[i]
			events = append(events, corev1.Event{
				Type: excerpt.Text(e.Type, maxKeywordBytes), Reason: excerpt.Text(e.Reason, maxTextBytes), Message: excerpt.Text(e.Message, maxCachedBytes),
				FirstTimestamp: e.FirstTimestamp, LastTimestamp: e.LastTimestamp, EventTime: e.EventTime,
			})
		}
		return nil
	}, client.InNamespace(object.GetNamespace()), about)
	if err != nil {
		return nil, fmt.Errorf("listing events of %q: %w", object.GetName(), err)
	}
	return events, nil
}
