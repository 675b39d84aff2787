// Package trialstore keeps a measurement in its results' ConfigMap, one key for
// each trial. Records go in as they are made; the same records come out at the
// next start.
//
// The store of the API server writes the whole object for each key. So records that
// fill a chunk move into a separate ConfigMap, which is never written again, and
// the results' ConfigMap, the head, stays small.
//
// The measurer's token allows to patch the head, and to make and patch the chunks.
// So a read is an empty merge patch, which the API server answers with the whole
// object and no new version. Every write of the head carries the version on which it
// is based. If there are two measurers, the one that no longer holds the results
// learns this before it can write.
package trialstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/measure"
)

// ErrSuperseded means that another measurer holds the results now. It is not a failure of the
// run: the other measurer continues.
var ErrSuperseded = errors.New("another measurer holds the results")

const (
	// MaximumBytes limits all keys and values together.
	MaximumBytes = measure.MaximumResultsBytes
	// fieldManager owns the measurer's keys; the controller owns its own keys.
	fieldManager = "vnfbench-measurer"
	// pollInterval is the time between two checks whether the chain is ready.
	pollInterval = time.Second
)

// Patcher is what a ConfigMap client can do with the measurer's token.
type Patcher interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.ConfigMap, error)
}

// Config names the results and the measurer that asks.
type Config struct {
	// ConfigMaps of the results' namespace.
	ConfigMaps Patcher
	// Name of the results' ConfigMap.
	Name string
	// Digest is the plan's; records of another plan are refused.
	Digest string
	// Measurer and UID are the pod's. The UID is the identity.
	Measurer string
	UID      string
	Log      *slog.Logger
}

// Store holds the results for one measurer. One goroutine uses it at a time.
type Store struct {
	cfg     Config
	holder  measure.Holder
	records []measure.Record
	// attempted is the last claim that was sent.
	attempted measure.Holder
	// meta and known are those of the last answer.
	meta  metav1.ObjectMeta
	known map[string]string
	// chunks are closed; closing is the next one, until the head lists it.
	chunks  []measure.Chunk
	closing *closing
	// reading keeps chunks from one attempt to claim to the next.
	reading Reading
	// pending is stored with the next write.
	pending map[string]string
}

// Open claims the results and replays their records. An earlier holder cannot write from
// then on.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{cfg: cfg, pending: map[string]string{}}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := s.retry(ctx, s.claim); err != nil {
		return nil, fmt.Errorf("opening the results %q: %w", cfg.Name, err)
	}
	return s, nil
}

// claim reads the object and writes the holder on top of exactly that version. A conflict
// means that another writer came first, and claim is tried again.
func (s *Store) claim(ctx context.Context) error {
	found, err := s.patch(ctx, "", nil)
	if err != nil {
		return err
	}
	records, holder, err := s.replay(ctx, found)
	if err != nil {
		return err
	}
	value, err := encode(holder)
	if err != nil {
		return err
	}
	s.attempted = holder
	claimed, err := s.patch(ctx, found.ResourceVersion, map[string]any{
		measure.KeyHolder: value, measure.KeyDigest: s.cfg.Digest,
	})
	if err != nil {
		return err
	}
	s.records, s.holder, s.chunks = records, holder, s.reading.Chunks()
	s.reading = Reading{}
	s.adopt(claimed)
	return nil
}

// Records returns all that is stored, in order. The caller must not change it.
func (s *Store) Records() []measure.Record { return s.records }

// Holder returns this measurer as the results name it.
func (s *Store) Holder() measure.Holder { return s.holder }

// Progress returns the latest that was set, by this measurer or the one before.
func (s *Store) Progress() measure.Progress {
	return decode[measure.Progress](s.latest(measure.KeyProgress))
}

// Generator returns the latest that was set, by this measurer or the one before.
func (s *Store) Generator() measure.GeneratorState {
	return decode[measure.GeneratorState](s.latest(measure.KeyGenerator))
}

// Finished reports whether every trial has been made.
func (s *Store) Finished() bool { return s.known[measure.KeyDone] != "" }

// Failure returns what ended the measurement, or nil.
func (s *Store) Failure() *measure.FailureState {
	if s.known[measure.KeyFailure] == "" {
		return nil
	}
	state := decode[measure.FailureState](s.known[measure.KeyFailure])
	return &state
}

// Sources returns which addresses the controller lets the measurer ask, known when the chain is ready.
func (s *Store) Sources() measure.Sources {
	return decode[measure.Sources](s.known[measure.KeySources])
}

// Neighbors returns the latest that was set, by this measurer or the one before.
func (s *Store) Neighbors() []measure.NeighborState {
	return decode[[]measure.NeighborState](s.latest(measure.KeyNeighbors))
}

// Deployment returns the number of the deployment of the chain that is ready; 0 before the first.
func (s *Store) Deployment() int {
	all := decode[[]measure.Deployment](s.known[measure.KeyDeployments])
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Number
}

// Endpoints returns the addresses of the ends of TCP connections, which the controller
// stores when the chain is ready; nil if there are none.
func (s *Store) Endpoints() *measure.Endpoints {
	if s.known[measure.KeyEndpoints] == "" {
		return nil
	}
	ends := decode[measure.Endpoints](s.known[measure.KeyEndpoints])
	return &ends
}

func (s *Store) latest(key string) string {
	if value, ok := s.pending[key]; ok {
		return value
	}
	return s.known[key]
}

// SetProgress sets what the next Append stores, or the next check while waiting for the
// chain: at most one write per second.
func (s *Store) SetProgress(p measure.Progress) error { return s.set(measure.KeyProgress, p) }

// SetGenerator sets a value as SetProgress does.
func (s *Store) SetGenerator(g measure.GeneratorState) error { return s.set(measure.KeyGenerator, g) }

// SetDevice sets a value as SetProgress does.
func (s *Store) SetDevice(d measure.DeviceState) error { return s.set(measure.KeyDevice, d) }

// SetNeighbors sets a value as SetProgress does.
func (s *Store) SetNeighbors(n []measure.NeighborState) error { return s.set(measure.KeyNeighbors, n) }

func (s *Store) set(key string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	s.pending[key] = text
	return nil
}

// Append stores a record and everything pending. It returns when the record is safe, and
// retries for as long as an API server may take to restart. With a canceled ctx it still
// makes one attempt.
func (s *Store) Append(ctx context.Context, record measure.Record) error {
	if record.Index != len(s.records) {
		return fmt.Errorf("record %d cannot follow %d records", record.Index, len(s.records))
	}
	record.Measurer = s.holder.Measurer
	value, err := encode(record)
	if err != nil {
		return err
	}
	key := trialKey(record.Index)
	if err := s.checkSize(map[string]string{key: value}); err != nil {
		return err
	}
	changes := map[string]any{key: value}
	if err := s.closeChunk(ctx, changes); err != nil {
		return fmt.Errorf("closing a chunk before trial %d: %w", record.Index, err)
	}
	if err := s.write(ctx, changes); err != nil {
		return fmt.Errorf("storing trial %d: %w", record.Index, err)
	}
	s.records = append(s.records, record)
	s.closed()
	return nil
}

// Flush stores everything pending.
func (s *Store) Flush(ctx context.Context) error { return s.write(ctx, nil) }

// Done stores that every trial has been made.
func (s *Store) Done(ctx context.Context) error {
	return s.finish(ctx, measure.KeyDone, map[string]int{"trials": len(s.records)})
}

// Fail stores that the measurer has given up, and why.
func (s *Store) Fail(ctx context.Context, state measure.FailureState) error {
	return s.finish(ctx, measure.KeyFailure, state)
}

func (s *Store) finish(ctx context.Context, key string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	return s.write(ctx, map[string]any{key: text})
}

// AwaitChain returns when the controller has reported that the chain is ready, in a deployment
// with at least a number. It checks every second, and stores what is pending in the same request.
func (s *Store) AwaitChain(ctx context.Context, deployment int) error {
	for {
		if err := s.write(ctx, nil); err != nil {
			return err
		}
		if err := s.read(ctx); err != nil {
			return err
		}
		if s.known[measure.KeyChain] == measure.ChainReady && s.Deployment() >= deployment {
			return nil
		}
		if err := clock.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// write puts changes and what is pending on top of the version last seen. nil removes a key.
func (s *Store) write(ctx context.Context, changes map[string]any) error {
	all := map[string]any{}
	for key, value := range s.pending {
		all[key] = value
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(key string, value any) bool { before, found := s.known[key]; return found && value == before })
	if len(all) > 0 {
		if err := s.retry(ctx, func(ctx context.Context) error { return s.put(ctx, all) }); err != nil {
			return err
		}
	}
	clear(s.pending)
	return nil
}

func (s *Store) put(ctx context.Context, changes map[string]any) error {
	written, err := s.patch(ctx, s.meta.ResourceVersion, changes)
	if err == nil {
		s.adopt(written)
		return nil
	}
	if !conflict(err) {
		return err
	}
	// Normal when the controller wrote its key. Another attempt only makes sense if this
	// measurer still holds the results.
	if lost := s.look(ctx); lost != nil {
		return lost
	}
	return err
}

func (s *Store) read(ctx context.Context) error { return s.retry(ctx, s.look) }

// look reads the object and checks that this measurer still holds it.
func (s *Store) look(ctx context.Context) error {
	found, err := s.patch(ctx, "", nil)
	if err != nil {
		return err
	}
	if err := s.verify(found); err != nil {
		return err
	}
	s.adopt(found)
	return nil
}

func (s *Store) adopt(found *corev1.ConfigMap) { s.meta, s.known = found.ObjectMeta, found.Data }

// patch sends a merge patch to the head; without changes it is a read. With a version, it fails with a
// conflict if the object has another version.
func (s *Store) patch(ctx context.Context, version string, changes map[string]any) (*corev1.ConfigMap, error) {
	body := map[string]any{}
	if version != "" {
		body["metadata"] = map[string]string{"resourceVersion": version}
	}
	if len(changes) > 0 {
		body["data"] = changes
	}
	return s.patchNamed(ctx, s.cfg.Name, types.MergePatchType, body)
}

func (s *Store) patchNamed(ctx context.Context, name string, kind types.PatchType, body any) (*corev1.ConfigMap, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return s.cfg.ConfigMaps.Patch(ctx, name, kind, text, metav1.PatchOptions{FieldManager: fieldManager})
}
