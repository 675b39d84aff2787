package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
)

// paged answers lists in pages as the API server does, with the same items in each list, and counts its answers.
type paged struct {
	client.WithWatch
	items   []runtime.Object
	answers int
}

func (p *paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.Limit == 0 {
		asked.Limit = int64(len(p.items))
	}
	p.answers++
	begin, _ := strconv.Atoi(asked.Continue)
	end := min(begin+int(asked.Limit), len(p.items))
	var page []runtime.Object
	for _, item := range p.items[begin:end] {
		page = append(page, item.DeepCopyObject())
	}
	// A decoder adds to what the list has.
	before, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	if end < len(p.items) {
		list.SetContinue(strconv.Itoa(end))
	}
	return meta.SetList(list, append(before, page...))
}

// TestListsAreReadInPages checks for each list without the cache that no page is larger than memory has room for, and how
// many are read.
func TestListsAreReadInPages(t *testing.T) {
	s := newScope(held, deleted)
	long := strings.Repeat("a", 1<<20)
	for name, test := range map[string]struct {
		item    func(i int) runtime.Object
		read    func(r *Reconciler) (int, error)
		answers int
		want    int
	}{
		"events": {
			item: func(int) runtime.Object { return &corev1.Event{Type: "Warning", Reason: "Failed", Message: long} },
			read: func(r *Reconciler) (int, error) {
				events, err := r.eventsOf(t.Context(), s.run)
				for _, e := range events {
					if len(e.Message) > maxCachedBytes {
						t.Fatalf("a message has %d bytes", len(e.Message))
					}
				}
				return len(events), err
			},
			answers: maxEventPages, want: maxEventPages * pageItems,
		},
		"pods": {
			item: func(i int) runtime.Object {
				owner := metav1.OwnerReference{UID: s.run.UID, Controller: new(true)}
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Annotations: map[string]string{"a": long}, OwnerReferences: []metav1.OwnerReference{owner}}}
			},
			read: func(r *Reconciler) (int, error) {
				s := newScope(held)
				s.measurers, s.chainPods = nil, nil
				err := readWorkloads(t.Context(), r.Reader, s, r.storedPods)
				for i := range s.chainPods {
					if s.chainPods[i].Annotations != nil {
						t.Fatal("a pod is whole")
					}
				}
				return len(s.chainPods), err
			},
			answers: 13, want: 250,
		},
		"requests": {
			item: func(int) runtime.Object { return &corev1.Pod{} },
			read: func(r *Reconciler) (int, error) {
				found, err := r.requested(t.Context(), []string{"a"})
				number := found["a"][corev1.ResourcePods]
				return int(number.Value()), err
			},
			answers: 13, want: 250,
		},
		"networks": {
			item: func(i int) runtime.Object {
				return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
			},
			read: func(r *Reconciler) (int, error) {
				names, _, err := r.networks(t.Context(), s)
				return len(names), err
			},
			answers: 13, want: 250,
		},
		"networks that go": {
			item: func(i int) runtime.Object {
				return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
			},
			read:    func(r *Reconciler) (int, error) { return 0, r.deleteNetworks(t.Context(), s) },
			answers: 13,
		},
		"records": {
			item: func(i int) runtime.Object {
				return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
			},
			read:    func(r *Reconciler) (int, error) { return 0, r.deleteRecords(t.Context(), s) },
			answers: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &paged{WithWatch: fakeCluster(t).(client.WithWatch)}
			for i := range 250 {
				p.items = append(p.items, test.item(i))
			}
			most := 0
			reader := interceptor.NewClient(p, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				err := c.List(ctx, list, options...)
				most = max(most, meta.LenList(list))
				return err
			}})
			got, err := test.read(&Reconciler{Client: fakeCluster(t), Reader: reader})
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want || p.answers != test.answers || most != pageItems {
				t.Errorf("%d items, want %d; %d answers, want %d; %d items in one, want %d", got, test.want, p.answers, test.answers, most, pageItems)
			}
		})
	}
}

// TestRecordsAreFoundByName checks that objects of others with the run's label do not hide the run's own chunks.
func TestRecordsAreFoundByName(t *testing.T) {
	s := newScope(held, deleted)
	c := fakeCluster(t)
	chunk := configMapNamed(s.names.Chunks()[3])
	chunk.Namespace, chunk.Labels = s.run.Namespace, map[string]string{v1alpha1.LabelRun: string(s.run.UID)}
	if err := c.Create(t.Context(), chunk); err != nil {
		t.Fatal(err)
	}
	p := &paged{WithWatch: c.(client.WithWatch), items: slices.Repeat([]runtime.Object{&metav1.PartialObjectMetadata{}}, 2*pageItems)}
	if err := (&Reconciler{Client: c, Reader: p}).deleteRecords(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(chunk), chunk); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the chunk is still there: %v", err)
	}
}
