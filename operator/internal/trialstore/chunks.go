package trialstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"vnfbench.io/operator/internal/measure"
)

// closing is a chunk whose ConfigMap exists, and which the head does not list yet.
type closing struct {
	measure.Chunk
	data map[string]string
	// listed is what the head then has under KeyChunks.
	listed string
}

// full returns the first records of the head that fill a chunk; nil if they do not. What is in a chunk
// follows only from the records, so every measurer makes the same one.
func (s *Store) full() *closing {
	c := &closing{data: map[string]string{}}
	for _, chunk := range s.chunks {
		c.Trials += chunk.Trials
	}
	for index := c.Trials; c.Bytes < measure.ChunkBytes; index++ {
		key := trialKey(index)
		value, found := s.known[key]
		if !found {
			return nil
		}
		c.data[key] = value
		c.Bytes += len(key) + len(value)
	}
	c.Trials, c.Digest = len(c.data), measure.Sum(c.data)
	return c
}

// closeChunk makes the next chunk, if the head's records fill one, and adds to the changes of the head that
// it lists the chunk and has its records no more. Where the chunk cannot be made, the records stay in the head
// until the next time: nothing is lost by that.
func (s *Store) closeChunk(ctx context.Context, changes map[string]any) error {
	next := s.full()
	if next == nil || len(s.chunks) == measure.MaximumChunks || ctx.Err() != nil {
		return nil
	}
	text, err := encode(append(slices.Clip(s.chunks), next.Chunk))
	if err != nil {
		return err
	}
	next.listed = text
	err = s.try(ctx, func(ctx context.Context) error { return s.makeChunk(ctx, next.data) })
	switch {
	case measure.ReasonOf(err) != "":
		return err
	case err != nil:
		s.cfg.Log.Warn("the records stay where they are: a chunk could not be made", "error", err.Error())
		return nil
	}
	s.closing = next
	changes[measure.KeyChunks] = next.listed
	for key := range next.data {
		changes[key] = nil
	}
	return nil
}

// closed notes that the head lists the chunk that was made.
func (s *Store) closed() {
	if s.closing != nil {
		s.chunks = append(slices.Clip(s.chunks), s.closing.Chunk)
		s.closing = nil
	}
}

// makeChunk makes the ConfigMap of the next chunk. An earlier measurer may have made it before it lost the
// results.
func (s *Store) makeChunk(ctx context.Context, data map[string]string) error {
	name := measure.ChunkName(s.cfg.Name, len(s.chunks))
	object := applycorev1.ConfigMap(name, s.meta.Namespace).WithLabels(s.meta.Labels).WithAnnotations(s.meta.Annotations).
		WithOwnerReferences(owners(s.meta.OwnerReferences)...).WithImmutable(true).WithData(data)
	made, err := s.patchNamed(ctx, name, types.ApplyPatchType, object)
	switch {
	case apierrors.IsInvalid(err), apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return lost(fmt.Errorf("another writer made ConfigMap %q: %w", name, err))
	case err != nil:
		return err
	case !isChunk(made, data):
		return lost(fmt.Errorf("another writer made ConfigMap %q", name))
	}
	return nil
}

func isChunk(made *corev1.ConfigMap, data map[string]string) bool {
	return made.Immutable != nil && *made.Immutable && len(made.BinaryData) == 0 && maps.Equal(made.Data, data)
}

// owners returns the owner of the head. To block its deletion takes a right on the owner.
func owners(of []metav1.OwnerReference) []*applymetav1.OwnerReferenceApplyConfiguration {
	var out []*applymetav1.OwnerReferenceApplyConfiguration
	for _, o := range of {
		owner := applymetav1.OwnerReference().WithAPIVersion(o.APIVersion).WithKind(o.Kind).WithName(o.Name).WithUID(o.UID)
		if o.Controller != nil {
			owner.WithController(*o.Controller)
		}
		out = append(out, owner)
	}
	return out
}
