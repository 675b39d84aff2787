package trialstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func trialKey(index int) string { return fmt.Sprintf("%s%06d.json", measure.KeyTrialPrefix, index) }

// replay reads what an earlier measurer left, and returns the next holder.
func (s *Store) replay(ctx context.Context, found *corev1.ConfigMap) ([]measure.Record, measure.Holder, error) {
	next := measure.Holder{Measurer: s.cfg.Measurer, UID: s.cfg.UID, Protocol: measure.Protocol()}
	records, err := s.reading.Read(found, func(name string, uid types.UID) (*corev1.ConfigMap, error) {
		if uid != "" {
			// An earlier attempt has read it, and it is immutable.
			return nil, nil
		}
		chunk, err := s.patchNamed(ctx, name, types.MergePatchType, map[string]any{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, Unanswered{err}
		}
		return chunk, err
	})
	switch unanswered := (Unanswered{}); {
	case errors.As(err, &unanswered):
		return nil, next, unanswered
	case err != nil:
		return nil, next, lost(err)
	}
	digest, known := found.Data[measure.KeyDigest]
	switch {
	case known && digest != s.cfg.Digest:
		return nil, next, lost(fmt.Errorf("they belong to the plan %q, this measurer follows %q", digest, s.cfg.Digest))
	case !known && len(records) > 0:
		return nil, next, lost(fmt.Errorf("key %q is missing, and there are %d trials", measure.KeyDigest, len(records)))
	}
	before, held := found.Data[measure.KeyHolder]
	if !held {
		return records, next, nil
	}
	var holder measure.Holder
	if err := measure.Unmarshal(before, &holder); err != nil {
		return nil, next, lost(fmt.Errorf("%q cannot be read: %w", measure.KeyHolder, err))
	}
	next.Restarts = holder.Restarts + 1
	if holder == s.attempted {
		// The answer to this very claim was lost; the claim was not.
		next = holder
	}
	return records, next, nil
}

// verify makes sure that an object is the one that this measurer holds.
func (s *Store) verify(found *corev1.ConfigMap) error {
	if found.UID != s.meta.UID {
		return lost(errors.New("the ConfigMap was recreated"))
	}
	var holder measure.Holder
	if err := measure.Unmarshal(found.Data[measure.KeyHolder], &holder); err != nil {
		return lost(fmt.Errorf("%q cannot be read: %w", measure.KeyHolder, err))
	}
	if holder != s.holder {
		return fmt.Errorf("%w: %q, no longer %q", ErrSuperseded, holder.Measurer, s.holder.Measurer)
	}
	// The answer to a write that removed the records of a chunk may have been lost.
	written := s.closing != nil && found.Data[measure.KeyChunks] == s.closing.listed
	for key, value := range s.known {
		switch now, there := found.Data[key]; {
		case key != measure.KeyDigest && key != measure.KeyChunks && !strings.HasPrefix(key, measure.KeyTrialPrefix):
		case now == value && there:
		case written && (key == measure.KeyChunks || !there && s.closing.data[key] == value):
		default:
			return lost(fmt.Errorf("key %q was changed", key))
		}
	}
	return nil
}

// checkSize refuses what would not fit, before the API server does.
func (s *Store) checkSize(changes map[string]string) error {
	total := measure.Bytes(s.known) + measure.Bytes(s.pending) + measure.Bytes(changes)
	for _, chunk := range s.chunks {
		total += chunk.Bytes
	}
	if total <= MaximumBytes {
		return nil
	}
	return tooLarge(fmt.Errorf("%d trials take %d bytes, more than the %d that results may have",
		len(s.records)+1, total, MaximumBytes))
}

func tooLarge(err error) error {
	return &measure.Failure{
		Reason: v1alpha1.ReasonResultsTooLarge, Err: err,
		Remedy: "measure fewer frame sizes in one run (spec.experiment.traffic.frameBytes), or lower what makes most trials in spec.experiment.measurements: " +
			"raise throughput.goals' widthPartsPerMillion, or lower repeats and the numbers of trials in single measurements",
	}
}

func lost(err error) error {
	return &measure.Failure{
		Reason: v1alpha1.ReasonResultsLost,
		Err:    fmt.Errorf("the results are not what was stored: %w", err),
		Remedy: "make the run again, and leave its results' ConfigMaps alone",
	}
}

// encode returns what is stored, which who reads it takes.
func encode(value any) (string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	text := string(encoded)
	if err := measure.CheckValue(text); err != nil {
		return "", tooLarge(fmt.Errorf("a value of type %T cannot be stored: %w", value, err))
	}
	return text, nil
}

// decode reads what this package wrote. It returns the zero value for what it cannot read.
func decode[T any](text string) T {
	var value T
	_ = measure.Unmarshal(text, &value)
	return value
}
