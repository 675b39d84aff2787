package benchmarkrun

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

func apiServerSlice(addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: apiServerKey.Namespace, Name: apiServerKey.Name},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](6443), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

func apiServerService(addresses ...string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: apiServerKey.Namespace, Name: apiServerKey.Name}}
	service.Spec.ClusterIPs = addresses
	service.Spec.Ports = []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}}
	return service
}

// TestFindAPIServer checks what is read of the Service and the EndpointSlice, and that nothing that would open every address or every port
// is.
func TestFindAPIServer(t *testing.T) {
	server := func(port int32, texts ...string) chain.Server {
		s := chain.Server{Ports: []int32{port}}
		for _, text := range texts {
			s.Addresses = append(s.Addresses, netip.MustParseAddr(text))
		}
		return s
	}
	slice, service := apiServerSlice("192.0.2.2", "192.0.2.1"), apiServerService("10.96.0.1")
	six, serviceSix := apiServerSlice("2001:db8::1"), apiServerService("fd00::1")
	noPort, byUDP, byName, noServicePort := slice.DeepCopy(), slice.DeepCopy(), apiServerSlice("api.example"), service.DeepCopy()
	noPort.Ports[0].Port, byUDP.Ports[0].Protocol, noServicePort.Spec.Ports = nil, ptr.To(corev1.ProtocolUDP), nil
	for name, test := range map[string]struct {
		objects []client.Object
		want    []chain.Server
	}{
		"two":                    {[]client.Object{slice, service}, []chain.Server{server(6443, "192.0.2.1", "192.0.2.2"), server(443, "10.96.0.1")}},
		"IPv6":                   {[]client.Object{six, serviceSix}, []chain.Server{server(6443, "2001:db8::1"), server(443, "fd00::1")}},
		"no slice":               {[]client.Object{service}, nil},
		"no Service":             {[]client.Object{slice}, nil},
		"no address":             {[]client.Object{apiServerSlice(), service}, nil},
		"no port":                {[]client.Object{noPort, service}, nil},
		"UDP alone":              {[]client.Object{byUDP, service}, nil},
		"a name":                 {[]client.Object{byName, service}, nil},
		"a Service without IP":   {[]client.Object{slice, apiServerService("None")}, nil},
		"no port of the Service": {[]client.Object{slice, noServicePort}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findAPIServer(t.Context(), fakeCluster(t, test.objects...))
			if (err != nil) != (test.want == nil) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// discovers makes it a plan that leaves it to the cluster where the API server is.
func discovers(s *scope) { s.plan.APIServerDiscovered = true }

// reading counts the reads of an EndpointSlice, and may fail them.
type reading struct {
	client.Reader
	reads int
	err   error
}

func (r *reading) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*discoveryv1.EndpointSlice); ok {
		if r.reads++; r.err != nil {
			return r.err
		}
	}
	return r.Reader.Get(ctx, key, object, options...)
}

// TestAPIServerIsReadForALaunch checks that the addresses are read before the measurer is launched, and then from time to time.
func TestAPIServerIsReadForALaunch(t *testing.T) {
	due := func(s *scope) { s.serversDue = true }
	for name, test := range map[string]struct {
		change  []with
		without bool
		want    int
	}{
		"planning":                          {[]with{planning}, false, 1},
		"planning, not discovered":          {[]with{planning}, true, 0},
		"the measurer is next":              {[]with{admitted, withPlan, discovers}, false, 1},
		"the measurer is next, not planned": {[]with{admitted, withPlan}, false, 0},
		"resumed":                           {[]with{admitted, withPlan, discovers, withRecords(calibrated)}, true, 1},
		"the measurer runs":                 {[]with{launched, discovers}, false, 0},
		"the measurer runs, and it is time": {[]with{launched, discovers, due}, true, 1},
		"it is time, not planned":           {[]with{launched, due}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			reader := &reading{Reader: fakeCluster(t, apiServerSlice("192.0.2.1"), apiServerService("10.96.0.1"))}
			s := newScope(test.change...)
			r := &Reconciler{Reader: reader, Defaults: plan.Defaults{APIServerDiscovered: !test.without}}
			if err := r.readAPIServer(t.Context(), s); err != nil || reader.reads != test.want || len(s.servers) != 2*test.want {
				t.Errorf("read %d times, %v, want %d: %v", reader.reads, s.servers, test.want, err)
			}
		})
	}
}

// TestAPIServerCannotBeRead checks that a run waits, and opens nothing, where the addresses cannot be read.
func TestAPIServerCannotBeRead(t *testing.T) {
	slices := schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}
	for name, failed := range map[string]error{
		"no right":  apierrors.NewForbidden(slices, "kubernetes", errors.New("no rule allows it")),
		"not there": apierrors.NewNotFound(slices, "kubernetes"),
		"a fault":   apierrors.NewInternalError(errors.New("etcd")),
		"away":      errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			var applied []string
			c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					applied = append(applied, o.GetName())
					return nil
				},
			})
			r := &Reconciler{Client: c, Reader: &reading{Reader: fakeCluster(t), err: failed}, Defaults: plan.Defaults{APIServerDiscovered: true}}
			s := newScope(planning)
			s.input.Defaults.APIServerDiscovered = true
			if err := r.readAPIServer(t.Context(), s); err != nil || s.serversErr == nil || s.servers != nil {
				t.Fatalf("got %v, %v, %v", s.servers, s.serversErr, err)
			}
			if got := r.makePlan(t.Context(), s); !errors.Is(got, s.serversErr) {
				t.Errorf("planned: %v", got)
			}
			s.plan = &plan.Plan{APIServerDiscovered: true}
			if got := r.launchMeasurer(t.Context(), s); !errors.Is(got, s.serversErr) || applied != nil {
				t.Errorf("launched %v: %v", applied, got)
			}
			if d, ok := s.waitOut(s.serversErr); !ok || !strings.Contains(d.chain.message, "addresses of the API server") {
				t.Errorf("waits %t: %+v", ok, d.chain)
			}
			if c := refusal(s.serversErr); c.reason != v1alpha1.ReasonAPIServerNotReadable || !strings.Contains(c.message, "apiServerAccess Any") {
				t.Errorf("ends with %+v", c)
			}
		})
	}
	s := newScope(admitted, withPlan, discovers)
	if err := (&Reconciler{}).launchMeasurer(t.Context(), s); err == nil || measure.ReasonOf(err) != "" {
		t.Errorf("a measurer would be launched whose policy names no address: %v", err)
	}
}

// TestAPIServerOfAnOperatorThatEnds checks that an operator that ends does not say that the addresses cannot be read.
func TestAPIServerOfAnOperatorThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newScope(planning)
	r := &Reconciler{Defaults: plan.Defaults{APIServerDiscovered: true}, Reader: &reading{Reader: fakeCluster(t), err: context.Canceled}}
	if err := r.readAPIServer(ctx, s); !errors.Is(err, context.Canceled) || s.serversErr != nil {
		t.Errorf("got %v, %v", err, s.serversErr)
	}
}

// TestPolicyFollowsTheAPIServer checks when the policy of a measurer that runs is applied again.
func TestPolicyFollowsTheAPIServer(t *testing.T) {
	runs := []with{launched, discovers, withRecords(open), functions(ready, ready), measurers(pod("m", running)), func(s *scope) { s.serversDue = true }}
	// as is the policy as the API server has it, with the addresses that the API server had.
	as := func(addresses ...string) *networkingv1.NetworkPolicy {
		s := newScope(runs...)
		var err error
		if s.servers, err = findAPIServer(t.Context(), fakeCluster(t, apiServerSlice(addresses...), apiServerService("10.96.0.1"))); err != nil {
			t.Fatal(err)
		}
		return s.measurerPolicy()
	}
	open := as("192.0.2.1")
	open.Spec.Egress[0].To = nil
	more := as("192.0.2.1")
	more.Spec.Egress = append(more.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}})
	for name, test := range map[string]struct {
		stored *networkingv1.NetworkPolicy
		err    error
		want   action
	}{
		"the same":                     {as("192.0.2.1"), nil, actWait},
		"the same, and a rule of pods": {more, nil, actWait},
		"another address":              {as("192.0.2.9"), nil, actFollowAPIServer},
		"an address more":              {as("192.0.2.1", "192.0.2.9"), nil, actFollowAPIServer},
		"every address":                {open, nil, actFollowAPIServer},
		"no policy":                    {nil, nil, actFollowAPIServer},
		"no answer":                    {as("192.0.2.9"), errors.New("connection refused"), actWait},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{apiServerSlice("192.0.2.1"), apiServerService("10.96.0.1")}
			if test.stored != nil {
				objects = append(objects, test.stored)
			}
			s := newScope(runs...)
			r := &Reconciler{Reader: &reading{Reader: fakeCluster(t, objects...), err: test.err}}
			if err := r.readAPIServer(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			d := decide(s)
			if d.action != test.want || d.after <= 0 || d.after > serversInterval {
				t.Errorf("%s after %s, want %s", d.action, d.after, test.want)
			}
		})
	}
}

// TestLooksForServers checks how often the addresses are read while a measurer runs.
func TestLooksForServers(t *testing.T) {
	k := &kept{}
	for at, want := range []bool{true, false, true, false} {
		if got := k.looksForServers(epoch.Add(time.Duration(at) * serversInterval / 2)); got != want {
			t.Errorf("after %d half intervals: %t", at, got)
		}
	}
}

// TestMeasurerThatNeverReachedTheAPIServer checks that its failure names what to change, and no other one does.
func TestMeasurerThatNeverReachedTheAPIServer(t *testing.T) {
	stopped := func(reason string) with {
		return func(s *scope) {
			s.measurers = []corev1.Pod{pod("m", ended(1, "Error", `{"reason":"`+reason+`","message":"the API server did not take it for 5m0s"}`))}
			withJob(jobFailed("BackoffLimitExceeded"))(s)
		}
	}
	for name, test := range map[string]struct {
		change []with
		want   bool
	}{
		"never":          {[]with{launched, discovers, stopped(v1alpha1.ReasonResultsNotStored)}, true},
		"later":          {[]with{launched, discovers, stopped(v1alpha1.ReasonResultsNotStored), heldBy("")}, false},
		"another reason": {[]with{launched, discovers, stopped(v1alpha1.ReasonCannotLoadBPF)}, false},
		"any address":    {[]with{launched, stopped(v1alpha1.ReasonResultsNotStored)}, false},
	} {
		if got := newScope(test.change...).jobEnd(); got == nil || strings.Contains(got.message, "apiServerAccess Any") != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
