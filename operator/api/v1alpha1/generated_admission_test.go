package v1alpha1_test

import (
	"cmp"
	"encoding/json"
	"errors"
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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vnfbench.io/operator/internal/admission"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// numberOf returns the number in an environment variable, or a default.
func numberOf(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	number, err := strconv.ParseUint(cmp.Or(os.Getenv(name), fmt.Sprint(otherwise)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return number
}

// TestGeneratedManifests sends manifests that are made from the CRDs' schemas, valid and invalid ones,
// to the API server. It checks that each is accepted or refused with the name of a field, that package admission
// decides the same without a server, and that a run that is accepted becomes a plan or an error. VNFBENCH_MANIFESTS is their number, VNFBENCH_SEED
// makes those of an earlier test again.
func TestGeneratedManifests(t *testing.T) {
	number, seed := numberOf(t, "VNFBENCH_MANIFESTS", 2000), numberOf(t, "VNFBENCH_SEED", uint64(time.Now().UnixNano()))
	t.Logf("VNFBENCH_SEED=%d", seed)
	kinds := generatedKinds(t)
	offlineServer, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	accepted, slowest := map[string]uint64{}, time.Duration(0)
	for i := range number {
		// Each manifest has its own seed, so that one can be made alone.
		kind, round := kinds[i%uint64(len(kinds))], i/uint64(len(kinds))
		g := &generator{random: rand.New(rand.NewPCG(seed, i)), percent: []int{25, 4}[round%2]}
		// Half of the manifests have no value that is wrong by itself.
		g.wild = round/2%2 == 1
		o := object(t, kind.base, nil)
		properties, _ := kind.schema["properties"].(map[string]any)
		required, _ := kind.schema["required"].([]any)
		generated := g.members(properties, required).(map[string]any)
		if experiment, ok := generated["experiment"].(map[string]any); ok && round/4%2 == 0 {
			// Most combinations of measurements are refused, so half of the runs have one that is not.
			delete(experiment, "measurements")
			delete(experiment, "acceptance")
		}
		o.Object["spec"] = generated
		offline := offlineServer.Admit(t.Context(), o.DeepCopy())
		start := time.Now()
		err := create(o)
		slowest = max(slowest, time.Since(start))
		text, _ := json.Marshal(generated)
		if (err == nil) != (len(offline) == 0) {
			t.Errorf("manifest %d of seed %d: the API server says %v, and package admission %+v\n%s", i, seed, err, offline, text)
		}
		if err != nil {
			if problem := refusalProblem(err); problem != "" {
				t.Errorf("manifest %d of seed %d: %s: %v\n%s", i, seed, problem, err, text)
			}
			continue
		}
		accepted[o.GetKind()]++
		switch o.GetKind() {
		case "BenchmarkRun":
			planGenerated(t, i, o)
		case "BenchmarkSuite", "BenchmarkSuiteRun":
			parseGenerated(t, i, o)
		}
	}
	t.Logf("of %d manifests %v were accepted; the slowest answer took %s", number, accepted, slowest)
	for _, kind := range kinds {
		name, share := object(t, kind.base, nil).GetKind(), number/uint64(len(kinds))
		if accepted[name] == 0 || accepted[name] == share {
			t.Errorf("%d of %d manifests of kind %s were accepted: they do not test both", accepted[name], share, name)
		}
	}
}

// planGenerated makes a plan of a run that was accepted. An error is an answer; a panic is not.
func planGenerated(t *testing.T, i uint64, o *unstructured.Unstructured) {
	t.Helper()
	in := plantest.Input(1)
	if err := convert(o, in.Run); err != nil {
		t.Errorf("manifest %d was accepted, and the operator cannot read it: %v", i, err)
		return
	}
	in.Run.Spec.Experiment.Measurements = in.Run.Spec.Experiment.Measurements.Filled()
	in.KubeVirt = true
	_, err := plan.Make(in)
	if problem := (*plan.Panic)(nil); errors.As(err, &problem) {
		t.Errorf("manifest %d was accepted, and planning it panics: %v\n%s", i, err, problem.Stack)
	}
}

// failedRule is what the API server says where a rule of the schema or of a policy has failed, instead of the rule's own words.
var failedRule = regexp.MustCompile("no such (key|attribute|overload)|out of bounds|(modulus|division|divide) by zero|overflow|evaluating rule|" +
	"resulted in error|failed (expression|rule|messageExpression)|cost (limit|budget)|compile error")

// refusalProblem returns what is wrong with a refusal, or "".
func refusalProblem(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "it is no answer of the API server"
	}
	answer := status.Status()
	switch failed := failedRule.FindString(answer.Message); {
	case answer.Code < 400 || answer.Code >= 500:
		return fmt.Sprintf("HTTP %d", answer.Code)
	case strings.Contains(answer.Message, "panic"):
		return "a panic"
	case failed != "":
		return fmt.Sprintf("a rule could not be evaluated (%s), so it says neither which field is wrong nor what to write", failed)
	case strings.Contains(answer.Message, "spec.") || strings.Contains(answer.Message, `"spec"`):
		return ""
	}
	return "it names no field"
}

// generator makes values of a schema.
type generator struct {
	random *rand.Rand
	// wild lets some values be wrong.
	wild bool
	// percent of the fields that may be absent are there.
	percent int
}

func (g *generator) often(percent int) bool { return g.random.IntN(100) < percent }

// wrong reports whether the next value is to be a wrong one.
func (g *generator) wrong() bool { return g.wild && g.often(3) }

// strangers are values of a wrong type or beyond any limit.
var strangers = []any{"", "x y", strings.Repeat("a", 5000), int64(-1), int64(1) << 62, 1.5, true, []any{}, map[string]any{}, map[string]any{"unknownMember": int64(1)}, "1e99999999999", "1e1.5", "1.1.1", "5KK", "9999999999999Ti", "-1", "../..", "\u0000"}

func (g *generator) value(schema map[string]any) any {
	if g.wrong() {
		return strangers[g.random.IntN(len(strangers))]
	}
	if choices, ok := schema["enum"].([]any); ok {
		return choices[g.random.IntN(len(choices))]
	}
	if forms, ok := schema["forms"].([]any); ok {
		return g.value(forms[g.random.IntN(len(forms))].(map[string]any))
	}
	if amount, _ := schema["x-kubernetes-int-or-string"].(bool); amount {
		return g.text(schema)
	}
	switch schema["type"] {
	case "object":
		if members, ok := schema["additionalProperties"].(map[string]any); ok {
			out := map[string]any{}
			for i := range g.random.IntN(3) {
				out[fmt.Sprintf("key-%d", i)] = g.value(members)
			}
			return out
		}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		return g.members(properties, required)
	case "array":
		least, most := limits(schema, "minItems", "maxItems", 0, 4)
		out := []any{}
		for range least + g.random.Int64N(min(most-least, 3)+1) {
			out = append(out, g.value(schema["items"].(map[string]any)))
		}
		return out
	case "integer":
		least, most := limits(schema, "minimum", "maximum", 0, 1<<40)
		switch {
		case g.often(20):
			return least
		case g.often(20):
			return most
		case g.wrong():
			return least - 1
		case g.wrong():
			return most + 1
		}
		return least + g.random.Int64N(min(most-least, 1<<50)+1)
	case "boolean":
		return g.often(50)
	}
	return g.text(schema)
}

// members returns an object with the required members and some of the others.
func (g *generator) members(properties map[string]any, required []any) any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		needed := slices.Contains(required, any(name))
		if needed && !g.wrong() || !needed && g.often(g.percent) {
			out[name] = g.value(properties[name].(map[string]any))
		}
	}
	if g.wrong() {
		out["unknownField"] = "x"
	}
	return out
}

// words are texts, some of which match each pattern of the schemas.
var words = []string{
	"a", "lab", "r1", "run-1", "64", "udp-4096", "imix", "default", "0000:03:00.0", "02:00:00:00:00:01", "openshift.io/west", "a/b", "cubic",
	"500m", "2", "1.5", "512Mi", "1.5Gi", "registry.example/image:1", "registry.example/image@sha256:" + strings.Repeat("a", 64), "198.18.0.1", "198.18.0.0/24", "NDR", "PDR", "idle",
	"256Mi", "1Gi", "10.0.0.0/8", "2001:2::/48", "0-1", "eth0", "e1", "key: value", "a.b",
}

func (g *generator) text(schema map[string]any) any {
	if rules, _ := schema["x-kubernetes-validations"].([]any); schema["format"] == "date-time" || strings.Contains(fmt.Sprint(rules), "format.datetime()") && !g.wrong() {
		return "2026-01-02T03:04:05Z"
	}
	least, most := limits(schema, "minLength", "maxLength", 0, 100)
	pattern, _ := schema["pattern"].(string)
	matches := regexp.MustCompile(pattern)
	var fit []string
	for _, word := range words {
		if matches.MatchString(word) && int64(len(word)) >= least && int64(len(word)) <= most {
			fit = append(fit, word)
		}
	}
	if len(fit) == 0 || g.wrong() {
		return words[g.random.IntN(len(words))]
	}
	return fit[g.random.IntN(len(fit))]
}

// limits returns two limits of a schema, or their defaults.
func limits(schema map[string]any, low, high string, least, most int64) (int64, int64) {
	if value, ok := numeric(schema[low]); ok {
		least = value
	}
	if value, ok := numeric(schema[high]); ok {
		most = value
	}
	return least, max(least, most)
}

func numeric(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), true
	}
	return 0, false
}
