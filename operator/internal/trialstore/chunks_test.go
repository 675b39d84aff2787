package trialstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/trialstore"
)

// sized returns a record that takes some KiB.
func sized(index, kib int) measure.Record {
	r := record(index)
	r.Outcome.Doubts[0].Detail = strings.Repeat("x", kib<<10)
	return r
}

func appendSized(t *testing.T, s *trialstore.Store, count, kib int) {
	t.Helper()
	for range count {
		if err := s.Append(t.Context(), sized(len(s.Records()), kib)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBytesGrowWithTrials checks that what the API server stores grows as the number of trials does, and that
// each trial is one write.
func TestBytesGrowWithTrials(t *testing.T) {
	perTrial := map[int]int{}
	for _, trials := range []int{90, 360} {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		appendSized(t, s, trials, 2)
		perTrial[trials] = server.Bytes() / trials
		if most := trials + server.Chunks() + 1; server.Writes() != most {
			t.Errorf("%d writes for %d trials, want %d", server.Writes(), trials, most)
		}
		if head := measure.Bytes(server.Data()); head > measure.ChunkBytes+8<<10 {
			t.Errorf("the head has %d bytes", head)
		}
		if got := open(t, server, "b").Records(); len(got) != trials {
			t.Errorf("%d of %d trials are read again", len(got), trials)
		}
	}
	t.Logf("bytes for each trial: %v", perTrial)
	if perTrial[360] > perTrial[90]*11/10 {
		t.Errorf("four times the trials take %d bytes each, and not %d", perTrial[360], perTrial[90])
	}
}

// TestChunksAreLikeTheHead checks what a chunk has besides records.
func TestChunksAreLikeTheHead(t *testing.T) {
	server := configmaptest.New(namespace, name)
	server.Edit(func(c *corev1.ConfigMap) {
		c.Labels, c.Annotations = map[string]string{v1alpha1.LabelRun: "u"}, map[string]string{v1alpha1.AnnotationRun: "r"}
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "r", UID: "u", Controller: new(true), BlockOwnerDeletion: new(true)}}
	})
	s := open(t, server, "a")
	appendSized(t, s, 20, 8)
	for i := range 2 {
		chunk, err := server.Get(measure.ChunkName(name, i), "")
		if err != nil {
			t.Fatal(err)
		}
		want := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "r", UID: "u", Controller: new(true)}
		if diff := cmp.Diff([]metav1.OwnerReference{want}, chunk.OwnerReferences); diff != "" {
			t.Error(diff)
		}
		if chunk.Labels[v1alpha1.LabelRun] != "u" || chunk.Annotations[v1alpha1.AnnotationRun] != "r" || len(chunk.Data) != 8 {
			t.Errorf("%+v with %d trials", chunk.ObjectMeta, len(chunk.Data))
		}
	}
	if _, found := server.Data()["trial-000015.json"]; found || server.Chunks() != 2 {
		t.Errorf("%d chunks, and the head still has what is in one: %t", server.Chunks(), found)
	}
}

// TestEveryPlaceOfDeath lets the measurer die before and after each of its writes. The next one has every
// trial that was stored, and continues.
func TestEveryPlaceOfDeath(t *testing.T) {
	dead := errors.New("dead")
	for place := range 60 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(place, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := configmaptest.New(namespace, name)
					first := open(t, server, "a")
					ctx, die := context.WithCancelCause(t.Context())
					patches, gone := 0, false
					server.Fault(func([]byte) (error, error) {
						if patches++; patches <= place {
							return nil, nil
						}
						before := gone || !after
						gone = true
						die(dead)
						if before {
							return errRefused, nil
						}
						return nil, errRefused
					})
					stored := 0
					for ; stored < 40 && !gone; stored++ {
						if err := first.Append(ctx, sized(stored, 4)); err != nil {
							break
						}
					}
					server.Fault(nil)
					second := open(t, server, "b")
					if got := len(second.Records()); got < stored || got > stored+1 {
						t.Fatalf("%d trials were stored, and %d are there", stored, got)
					}
					appendSized(t, second, 20, 4)
					third := open(t, server, "c").Records()
					if len(third) != len(second.Records()) {
						t.Fatalf("%d trials, want %d", len(third), len(second.Records()))
					}
					for i, r := range third {
						if r.Index != i {
							t.Errorf("trial %d is at place %d", r.Index, i)
						}
					}
				})
			})
		}
	}
}

// TestAnswersOfClosingAreLost checks that a measurer that does not hear that a chunk, or the head without its
// records, was stored continues.
func TestAnswersOfClosingAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		lost := 0
		server.Fault(func(body []byte) (error, error) {
			if strings.Contains(string(body), measure.KeyChunks) || strings.Contains(string(body), "immutable") {
				if lost++; lost%2 == 1 {
					return nil, errRefused
				}
			}
			return nil, nil
		})
		appendSized(t, s, 60, 8)
		if lost == 0 || server.Chunks() < 6 {
			t.Fatalf("%d answers, %d chunks", lost, server.Chunks())
		}
		if got := open(t, server, "b").Records(); len(got) != 60 {
			t.Errorf("%d trials", len(got))
		}
	})
}

// TestChunkThatCannotBeMade checks that the run continues without chunks where a quota or a missing right refuses them.
func TestChunkThatCannotBeMade(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	refuse := true
	server.Fault(func(body []byte) (error, error) {
		if refuse && strings.Contains(string(body), "immutable") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("exceeded quota")), nil
		}
		return nil, nil
	})
	appendSized(t, s, 20, 8)
	if server.Chunks() != 0 {
		t.Fatal("there are chunks")
	}
	refuse = false
	appendSized(t, s, 2, 8)
	if server.Chunks() != 2 || len(open(t, server, "b").Records()) != 22 {
		t.Errorf("%d chunks", server.Chunks())
	}
}

// TestForeignChunk checks that a ConfigMap of another writer under a chunk's name ends the run with a reason.
func TestForeignChunk(t *testing.T) {
	chunk := measure.ChunkName(name, 0)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, chunk, errors.New("x"))
	conflict.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}
	for what, prepare := range map[string]func(*configmaptest.Server){
		"other data": func(s *configmaptest.Server) {
			s.SetChunk(chunk, &corev1.ConfigMap{Immutable: new(true), Data: map[string]string{"trial-000000.json": "{}"}})
		},
		"another manager": func(s *configmaptest.Server) {
			s.Fault(func(body []byte) (error, error) {
				if strings.Contains(string(body), "immutable") {
					return conflict, nil
				}
				return nil, nil
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			server := configmaptest.New(namespace, name)
			prepare(server)
			s := open(t, server, "a")
			appendSized(t, s, 8, 8)
			if err := s.Append(t.Context(), sized(8, 8)); measure.ReasonOf(err) != v1alpha1.ReasonResultsLost || !strings.Contains(err.Error(), chunk) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOpenRefusesChunks checks that the next measurer refuses chunks that are not those that were closed.
func TestOpenRefusesChunks(t *testing.T) {
	chunk := measure.ChunkName(name, 0)
	edit := func(change func(*corev1.ConfigMap)) func(*configmaptest.Server) {
		return func(s *configmaptest.Server) {
			object, _ := s.Get(chunk, "")
			change(object)
			s.SetChunk(chunk, object)
		}
	}
	list := func(text string) func(*configmaptest.Server) {
		return func(s *configmaptest.Server) { s.Edit(func(c *corev1.ConfigMap) { c.Data[measure.KeyChunks] = text }) }
	}
	for what, harm := range map[string]func(*configmaptest.Server){
		"deleted":           func(s *configmaptest.Server) { s.SetChunk(chunk, nil) },
		"a trial changed":   edit(func(c *corev1.ConfigMap) { c.Data["trial-000001.json"] += " " }),
		"a trial removed":   edit(func(c *corev1.ConfigMap) { delete(c.Data, "trial-000001.json") }),
		"a key added":       edit(func(c *corev1.ConfigMap) { c.Data["x"] = "" }),
		"binary data":       edit(func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"x": nil} }),
		"no more immutable": edit(func(c *corev1.ConfigMap) { c.Immutable = nil }),
		"not listed":        func(s *configmaptest.Server) { s.Edit(func(c *corev1.ConfigMap) { delete(c.Data, measure.KeyChunks) }) },
		"list unreadable":   list("{"),
		"no trials":         list(`[{"trials":0,"bytes":1}]`),
		"negative bytes":    list(`[{"trials":1,"bytes":-1}]`),
		"huge":              list(`[{"trials":1,"bytes":9223372036854775807},{"trials":1,"bytes":9223372036854775807}]`),
		"many":              list("[" + strings.Repeat(`{"trials":1,"bytes":1},`, measure.MaximumChunks) + `{"trials":1,"bytes":1}]`),
		"too much in all":   list("[" + strings.Repeat(`{"trials":1,"bytes":100000},`, measure.MaximumChunks-1) + `{"trials":1,"bytes":100000}]`),
	} {
		t.Run(what, func(t *testing.T) {
			server := configmaptest.New(namespace, name)
			appendSized(t, open(t, server, "a"), 12, 8)
			harm(server)
			if _, err := trialstore.Open(t.Context(), config(server, "b")); measure.ReasonOf(err) != v1alpha1.ReasonResultsLost {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestReadingKeepsWhatItDecoded checks that a chunk is asked for its data once, and that every reading is the same as one from
// the start, also where chunks and records are exchanged.
func TestReadingKeepsWhatItDecoded(t *testing.T) {
	server := configmaptest.New(namespace, name)
	s := open(t, server, "a")
	var kept trialstore.Reading
	asked := map[string]int{}
	get := func(name string, uid types.UID) (*corev1.ConfigMap, error) {
		found, err := server.Get(name, uid)
		if err == nil && found.UID == uid {
			return nil, nil
		}
		asked[name]++
		return found, err
	}
	compare := func() {
		t.Helper()
		head, err := server.Get(name, "")
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := trialstore.Read(head, server.Get)
		got, gotErr := kept.Read(head, get)
		if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%v, %v: %s", wantErr, gotErr, diff)
		}
	}
	for range 40 {
		appendSized(t, s, 1, 8)
		compare()
		compare()
	}
	if len(asked) != 4 {
		t.Errorf("asked %v", asked)
	}
	for chunk, times := range asked {
		if times != 1 {
			t.Errorf("chunk %s was read %d times", chunk, times)
		}
	}
	server.Edit(func(c *corev1.ConfigMap) {
		c.Data["trial-000039.json"] = strings.Replace(c.Data["trial-000039.json"], "Throughput", "Latency", 1)
	})
	compare()
	// The second chunk with another UID, and then with other records.
	name := measure.ChunkName(name, 1)
	object, err := server.Get(name, "")
	if err != nil {
		t.Fatal(err)
	}
	object.UID = "another"
	server.SetChunk(name, object)
	compare()
	if asked[name] != 2 {
		t.Errorf("asked %v", asked)
	}
	changed := object.DeepCopy()
	changed.Data, changed.UID = maps.Clone(object.Data), "a third"
	changed.Data["trial-000010.json"] = strings.Replace(changed.Data["trial-000010.json"], "Throughput", "Latency", 1)
	server.SetChunk(name, changed)
	compare()
	server.SetChunk(name, nil)
	compare()
	server.SetChunk(name, object)
	compare()
}

// TestStopClosesNothing checks that a measurer that was asked to stop stores its trial in one attempt.
func TestStopClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := configmaptest.New(namespace, name)
		s := open(t, server, "a")
		appendSized(t, s, 8, 8)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("stopped"))
		server.Fault(until(time.Now().Add(time.Hour), errRefused, nil))
		start := time.Now()
		if err := s.Append(ctx, sized(8, 8)); err == nil {
			t.Error("it was stored")
		}
		if took := time.Since(start); took > 5*time.Second || server.Chunks() != 0 {
			t.Errorf("it took %s", took)
		}
	})
}
