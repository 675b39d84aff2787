package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

const (
	// defaultFaults is what there is time for in every end-to-end test; `make campaign` makes more.
	defaultFaults = 10
	// campaignTrials are those of a run: three calibrations, a warm-up and four loads.
	campaignTrials = 8
	// maxDelay is how long after its apply a run ends on an idle machine.
	maxDelay = 16 * time.Second
	// maxChainDelay is how long it uses its chain there.
	maxChainDelay = 5 * time.Second
	// trialPrefix begins the keys of the results' ConfigMaps that hold a trial each.
	trialPrefix = "trial-"
)

// fourSeconds measures for four seconds after its calibration.
const fourSeconds = `  measurements:
    warmUpMilliseconds: 200
    latency:
      trialMilliseconds: 1000
      loads:
      - {name: l1, framesPerSecond: 1000}
      - {name: l2, framesPerSecond: 2000}
      - {name: l3, framesPerSecond: 3000}
      - {name: l4, framesPerSecond: 4000}
`

// fault is something that goes wrong.
type fault struct {
	name string
	// strike makes it happen and returns what it met.
	strike func(c *campaign) string
	// ends are the reasons with which a run may end after it.
	ends func(at moment) []string
}

// moment is how far a run was when a fault struck.
type moment struct {
	// stage is the last condition that was True.
	stage string
	// stored are the trials in the results' ConfigMaps, by their keys.
	stored map[string]string
	// met is what the fault met; empty if that was not there yet, or no more.
	met string
}

// measuring reports whether the chain is used, and will be for seconds: two loads or more are left.
func (m moment) measuring() bool {
	loads := 0
	for _, trial := range m.stored {
		if strings.Contains(trial, `"stage":"Latency"`) {
			loads++
		}
	}
	return m.stage == v1alpha1.ConditionChainReady && loads <= 2
}

func (m moment) String() string {
	if m.stage == "" {
		m.stage = "waiting"
	}
	return fmt.Sprintf("%s, %d trials stored", m.stage, len(m.stored))
}

// campaign makes one fault after the other.
type campaign struct {
	t      *testing.T
	random *rand.Rand
	// ns and testbed are where the next run goes; both are empty after a fault that deleted one.
	ns  string
	run string
	// bridges, spaces and links are what the node had before the first run.
	bridges, spaces, links string
	rows                   []string
}

// continues is the end of a run that a fault only holds up.
func continues(moment) []string { return []string{v1alpha1.ReasonSucceeded} }

// gone means that the run itself is to be deleted.
const gone = "(deleted)"

// faults are those of a campaign.
var faults = []fault{
	{"kill all operators", func(c *campaign) string { killOperator(c.t); return "killed" }, continues},
	{"kill the leader of two operators", (*campaign).killLeader, continues},
	{"delete the operators' Lease", (*campaign).deleteLease, continues},
	{"kill the measurer", func(c *campaign) string { return c.killComponent("measurer") }, continues},
	{"kill the function", func(c *campaign) string { return c.killComponent("function") }, afterFunction},
	{"kill the API server", func(c *campaign) string { return c.killDaemon("kube-apiserver") }, continues},
	{"kill etcd", func(c *campaign) string { return c.killDaemon("etcd") }, continues},
	{"kill the kubelet", func(c *campaign) string { return c.killDaemon("kubelet") }, continues},
	{"kill containerd", func(c *campaign) string { return c.killDaemon("containerd") }, continues},
	{"delete the plan", func(c *campaign) string { return c.deleteConfigMap("-plan") }, continues},
	{"delete the results", func(c *campaign) string { return c.deleteConfigMap("-results") }, afterResults},
	{"delete the Job", (*campaign).deleteJob, continues},
	{"delete the Testbed", (*campaign).deleteTestbed, afterTestbed},
	{"delete the namespace", (*campaign).deleteNamespace, func(moment) []string { return []string{gone} }},
	{"delete the run with orphan", (*campaign).deleteWithOrphan, func(moment) []string { return []string{gone} }},
	{"delete the node's Lease", (*campaign).deleteNodeLease, continues},
	{"delete the measurer's RoleBinding", (*campaign).deleteRoleBinding, continues},
	{"delete the measurer's pod while a quota is full for 15 s", (*campaign).fillQuota, continues},
	{"keep one finished run", (*campaign).keepOne, continues},
	{"fill the node's disk for 15 s", (*campaign).fillDisk, continues},
	{"cut pods off from the API server for 15 s", (*campaign).partition, continues},
}

// TestCampaign strikes runs with faults at random moments: FAULTS of them, chosen by SEED
// from those whose name matches FAULT. It checks that each
// run ends as it should, that no trial that was stored is lost, and that nothing of a run is left.
func TestCampaign(t *testing.T) {
	number, seed := environment(t, "FAULTS", defaultFaults), environment(t, "SEED", uint64(time.Now().UnixNano()))
	t.Logf("SEED=%d FAULTS=%d", seed, number)
	scale(t, 2)
	t.Cleanup(func() { scale(t, 1) })
	c := &campaign{t: t, random: rand.New(rand.NewPCG(seed, 0))}
	// What other tests and the change of replicas have left is on its way out.
	c.settles("network namespaces of the node", c.sandboxes(), c.spacesNow)
	c.bridges, c.spaces, c.links = c.bridgesNow(), c.spacesNow(), c.linksNow()
	defer func() {
		t.Logf("| # | fault | moment | may end with | ended with | after |\n%s", strings.Join(c.rows, "\n"))
	}()
	pattern, err := regexp.Compile(os.Getenv("FAULT"))
	must(t, err)
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !pattern.MatchString(f.name) })
	if len(chosen) == 0 {
		t.Fatalf("no fault matches %s", pattern)
	}
	// Each kind comes once before one comes again.
	var order []int
	for i := range int(number) {
		if len(order) == 0 {
			order = c.random.Perm(len(chosen))
		}
		c.strike(i, chosen[order[0]])
		order = order[1:]
	}
	c.leave()
}

func environment(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	number, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	return number
}

// strike makes a run, a fault at a random moment of it, and the checks.
func (c *campaign) strike(number int, f fault) {
	c.t.Helper()
	start := time.Now()
	if c.ns == "" {
		c.ns = namespace(c.t)
		testbed(c.t, c.ns)
	}
	c.run = fmt.Sprintf("run-%d", number)
	apply(c.t, c.ns, shortRun(c.run, fourSeconds))
	c.wait()
	at := c.moment()
	at.met = f.strike(c)
	allowed := f.ends(at)
	ended := c.end(allowed)
	if !slices.Contains(allowed, ended) {
		c.t.Errorf("fault %d, %s at %q (met: %s): ended with %s, want one of %q", number, f.name, at, at.met, ended, allowed)
	}
	c.checkStored(number, f, at, ended)
	c.checkLeft(number, f)
	row := fmt.Sprintf("| %d | %s: %s | %s | %s | %s | %.0f s |", number, f.name, at.met, at, strings.Join(allowed, ", "), ended, time.Since(start).Seconds())
	c.rows = append(c.rows, row)
	c.t.Log(row)
}

// wait waits until a random moment of the run: a time, a number of trials, or a time after the chain was ready.
func (c *campaign) wait() {
	switch c.random.IntN(3) {
	case 0:
		time.Sleep(time.Duration(c.random.Int64N(int64(maxDelay))))
	case 1:
		until(c.t, c.ns, c.run, waitForStart, "measuring", trials(1+c.random.Int32N(campaignTrials)))
	case 2:
		until(c.t, c.ns, c.run, waitForStart, "using the chain", func(run *v1alpha1.BenchmarkRun) bool {
			return finished(run) || condition(run, v1alpha1.ConditionChainReady).Status == metav1.ConditionTrue
		})
		time.Sleep(time.Duration(c.random.Int64N(int64(maxChainDelay))))
	}
}

func (c *campaign) moment() moment {
	c.t.Helper()
	at, run := moment{stored: c.stored()}, getRun(c.t, c.ns, c.run)
	for _, stage := range []string{v1alpha1.ConditionAdmitted, v1alpha1.ConditionPlanned, v1alpha1.ConditionChainReady, v1alpha1.ConditionMeasured, v1alpha1.ConditionSucceeded} {
		if condition(run, stage).Status == metav1.ConditionTrue {
			at.stage = stage
		}
	}
	return at
}

// stored returns the trials in the results' ConfigMaps of the run; nil if there are none.
func (c *campaign) stored() map[string]string {
	c.t.Helper()
	var kept map[string]string
	for _, found := range c.configMaps() {
		if !strings.Contains(found.Name, "-results") {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		maps.Copy(kept, found.Data)
	}
	maps.DeleteFunc(kept, func(key, _ string) bool { return !strings.HasPrefix(key, trialPrefix) })
	return kept
}

// configMap returns the ConfigMap of the run whose name ends as wanted, nil if there is none.
func (c *campaign) configMap(suffix string) *corev1.ConfigMap {
	c.t.Helper()
	found := c.configMaps()
	for i := range found {
		if strings.HasSuffix(found[i].Name, suffix) {
			return &found[i]
		}
	}
	return nil
}

func (c *campaign) configMaps() []corev1.ConfigMap {
	c.t.Helper()
	run := &v1alpha1.BenchmarkRun{}
	list := &corev1.ConfigMapList{}
	must(c.t, retry(c.t, func() error {
		if err := client.IgnoreNotFound(cluster.Get(c.t.Context(), client.ObjectKey{Namespace: c.ns, Name: c.run}, run)); err != nil {
			return err
		}
		return cluster.List(c.t.Context(), list, client.InNamespace(c.ns), client.MatchingLabels{v1alpha1.LabelRun: string(run.UID)})
	}))
	return list.Items
}

// end waits for the run's end and returns its reason, or gone.
func (c *campaign) end(allowed []string) string {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for {
		run := &v1alpha1.BenchmarkRun{}
		err := retry(c.t, func() error {
			return cluster.Get(c.t.Context(), client.ObjectKey{Namespace: c.ns, Name: c.run}, run)
		})
		if apierrors.IsNotFound(err) {
			return gone
		}
		must(c.t, err)
		succeeded := condition(run, v1alpha1.ConditionSucceeded)
		// A run that had its verdict before it was deleted is there until its pods are gone.
		if finished(run) && !slices.Contains(allowed, gone) {
			return succeeded.Reason
		}
		// A run whose testbed is gone waits for another: that is no end, so it is asked for by the fault.
		if waits := condition(run, v1alpha1.ConditionAdmitted); slices.Contains(allowed, v1alpha1.ReasonTestbedNotFound) && waits.Reason == v1alpha1.ReasonTestbedNotFound {
			must(c.t, cluster.Delete(c.t.Context(), run))
			return v1alpha1.ReasonTestbedNotFound
		}
		if time.Now().After(deadline) {
			diagnose(c.t.Logf, c.ns)
			c.t.Fatalf("run %s has not ended after 10 minutes: %s: %s", c.run, succeeded.Reason, succeeded.Message)
		}
		time.Sleep(250 * time.Millisecond)
	}
}

// checkStored checks that the trials that were stored before the fault are still there as they were, unless
// the fault deleted them, and that a run that succeeded has all of its figures.
func (c *campaign) checkStored(number int, f fault, at moment, ended string) {
	c.t.Helper()
	if ended == v1alpha1.ReasonSucceeded {
		if run := getRun(c.t, c.ns, c.run); len(run.Status.Results) == 1 {
			checkResult(c.t, run.Status.Results[0], 0, 4)
		} else {
			c.t.Errorf("fault %d, %s: %d results", number, f.name, len(run.Status.Results))
		}
	}
	if ended == gone || ended == v1alpha1.ReasonResultsLost || f.name == "delete the results" {
		return
	}
	now := c.stored()
	for key, value := range at.stored {
		if now[key] != value {
			c.t.Errorf("fault %d, %s: %s was stored as %.200s, and is %.200q now", number, f.name, key, value, now[key])
		}
	}
}

// checkLeft checks that nothing of the run is left but plan and results: no object, and nothing on the node.
func (c *campaign) checkLeft(number int, f fault) {
	c.t.Helper()
	nothingLeft(c.t, c.ns)
	c.settles(fmt.Sprintf("fault %d, %s: network namespaces of the node", number, f.name), c.spaces, c.spacesNow)
	c.settles(fmt.Sprintf("fault %d, %s: links of the node", number, f.name), c.links, c.linksNow)
	if f.name == "delete the Testbed" || f.name == "delete the namespace" {
		c.leave()
	} else {
		freed(c.t, c.ns)
	}
}

// leave deletes the testbed and checks that its bridges are gone. The next run gets a new one.
func (c *campaign) leave() {
	c.t.Helper()
	if c.ns == "" {
		return
	}
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: testbedName(c.ns, "lab")}}
	must(c.t, client.IgnoreNotFound(cluster.Delete(c.t.Context(), tb)))
	c.settles("testbeds", "", func() string {
		if err := cluster.Get(c.t.Context(), client.ObjectKeyFromObject(tb), tb); apierrors.IsNotFound(err) {
			return ""
		}
		return tb.Name
	})
	c.settles("bridges of the node", c.bridges, c.bridgesNow)
	c.ns = ""
}

// settles waits until something is as it was before.
func (c *campaign) settles(what, want string, now func() string) {
	c.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		got := now()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%s: %s, want %s as before", what, got, want)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// onNode runs a script in the node.
func (c *campaign) onNode(script string) string {
	c.t.Helper()
	out, code := command(c.t, os.Getenv("LAB"), "shell", "--", "sh", "-c", script)
	if code != 0 {
		c.t.Fatalf("on the node: %s\n%s", script, out)
	}
	return strings.TrimSpace(out)
}

func (c *campaign) bridgesNow() string {
	return c.onNode("ip -o link show type bridge | cut -d: -f2 | sort | tr -d '\\n'")
}

func (c *campaign) spacesNow() string { return c.onNode("ls /run/netns 2>/dev/null | wc -l") }

// sandboxes returns how many pods of the cluster have their own network.
func (c *campaign) sandboxes() string {
	c.t.Helper()
	list := &corev1.PodList{}
	must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), list) }))
	own := 0
	for _, pod := range list.Items {
		if !pod.Spec.HostNetwork && pod.DeletionTimestamp.IsZero() {
			own++
		}
	}
	return strconv.Itoa(own)
}

func (c *campaign) linksNow() string { return c.onNode("ip -o link show type veth | wc -l") }
