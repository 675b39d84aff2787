package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// undigested lists the fields of a plan that are not part of its digest. Add a field here only if
// no figure can depend on it.
var undigested = []string{
	"endpoint.Config.GatewayMAC", "endpoint.Config.MAC",
	"measure.Instructions.BaselineLoads", "measure.Instructions.DeadlineSeconds", "measure.Instructions.Digest", "measure.Instructions.OrderSeed", "measure.Instructions.Run", "measure.Stream.DestinationMAC", "measure.Stream.SourceMAC",
	"plan.Container.ImagePullPolicy", "plan.Container.ImagePullSecret", "plan.Container.Readiness", "plan.Container.WithoutLog", "plan.Custom.ImagePullPolicy", "plan.Custom.ImagePullSecret", "plan.Custom.ManagementMAC", "plan.Custom.Readiness",
	"plan.End.Function", "plan.End.MAC", "plan.Endpoint.Bridge", "plan.Endpoint.Tolerations",
	"plan.Function.Name", "plan.Function.Tolerations", "plan.Generator.Tolerations", "plan.Neighbor.Tolerations", "plan.Node.KubeletVersion",
	"plan.Plan.APIServerAddresses", "plan.Plan.APIServerDiscovered", "plan.Plan.APIServerPorts", "plan.Plan.AgentAudience", "plan.Plan.DeadlineSeconds", "plan.Plan.Digest", "plan.Plan.ImagePullPolicy", "plan.Plan.ImagePullSecrets",
	"plan.Plan.Observer", "plan.Plan.OperatorVersion", "plan.Plan.PriorityClassName", "plan.Plan.Protocol", "plan.Plan.Run", "plan.Plan.Testbed", "plan.Plan.TestbedSpec",
	"plan.Segment.Bridge",
	"plan.VM.OnDifference",
	"vnf.Config.Caller", "vnf.Config.Name", "vnf.Neighbor.MAC", "vnf.Port.MAC",
}

// TestEveryFieldIsDigested changes each field of a plan that has everything, one at a time, and
// checks that each changes the digest.
func TestEveryFieldIsDigested(t *testing.T) {
	p := &Plan{}
	w := walker{t: t, plan: p, left: map[string]bool{}}
	w.set(reflect.ValueOf(p).Elem(), 1)
	w.whole = digest(p)
	w.walk(reflect.ValueOf(p).Elem(), "plan")
	if w.changed < 200 {
		t.Errorf("%d fields were changed: the walk does not reach what it should", w.changed)
	}
	var left []string
	for field := range w.left {
		left = append(left, field)
	}
	slices.Sort(left)
	if diff := cmp.Diff(undigested, left); diff != "" {
		t.Errorf("fields that are not part of the digest (-want +got):\n%s", diff)
	}
}

type walker struct {
	t     *testing.T
	plan  *Plan
	whole string
	// left are the fields that are not part of the digest, changed counts the others.
	left    map[string]bool
	changed int
}

// set gives a value and everything in it the content number n.
func (w *walker) set(v reflect.Value, n int) {
	switch value := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*value = json.RawMessage(strconv.Itoa(n))
		return
	case *netip.Addr:
		*value = netip.AddrFrom4([4]byte{198, 18, 0, byte(n)})
		return
	case *netip.Prefix:
		*value = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(n)}), 32)
		return
	}
	if writesItself(v.Type()) {
		w.t.Fatalf("give %s a value here", v.Type())
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		w.set(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		w.set(v.Index(0), n)
	case reflect.Array:
		for i := range v.Len() {
			w.set(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("digest") != "-" {
				w.set(v.Field(i), n)
			}
		}
	case reflect.Bool:
		v.SetBool(n == 1)
	case reflect.String:
		v.SetString(fmt.Sprint(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	default:
		w.t.Fatalf("give %s a value here", v.Type())
	}
}

// walk changes each part of a value separately.
func (w *walker) walk(v reflect.Value, path string) {
	switch {
	case v.Kind() == reflect.Pointer:
		before := v.Elem()
		v.SetZero()
		w.compare(path + " is absent")
		v.Set(before.Addr())
		w.walk(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[json.RawMessage]():
		before := v.Interface()
		v.SetZero()
		w.compare(path + " is empty")
		v.Set(reflect.ValueOf(before))
		w.walk(v.Index(0), path+"[0]")
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case v.Kind() == reflect.Struct && !writesItself(v.Type()):
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Tag.Get("digest") == "-" {
				w.left[strings.TrimPrefix(v.Type().String(), "*")+"."+field.Name] = true
				continue
			}
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.IsExported() || name == "-" || name == "" && !field.Anonymous {
				w.t.Errorf("%s.%s has no JSON name", path, field.Name)
			}
			w.walk(v.Field(i), path+"."+field.Name)
		}
	default:
		w.set(v, 2)
		w.compare(path)
		w.set(v, 1)
	}
}

// compare checks that the digest differs from that of the original plan.
func (w *walker) compare(path string) {
	w.t.Helper()
	if w.changed++; digest(w.plan) == w.whole {
		w.t.Errorf("%s does not change the digest", path)
	}
}
