package trialstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func trialKey(index int) string { return fmt.Sprintf("%s%06d.json", measure.KeyTrialPrefix, index) }

// readRecords reads the trials of a results' ConfigMap. It refuses gaps: a
// measurement with a trial missing is another measurement.
func readRecords(data map[string]string) ([]measure.Record, error) {
	count := 0
	for key := range data {
		if strings.HasPrefix(key, measure.KeyTrialPrefix) {
			count++
		}
	}
	records := make([]measure.Record, 0, count)
	for index := range count {
		value, found := data[trialKey(index)]
		if !found {
			return nil, fmt.Errorf("there are %d trials, but %q is missing", count, trialKey(index))
		}
		var record measure.Record
		if err := json.Unmarshal([]byte(value), &record); err != nil {
			return nil, fmt.Errorf("%q cannot be read: %w", trialKey(index), err)
		}
		if record.Index != index {
			return nil, fmt.Errorf("%q holds record %d", trialKey(index), record.Index)
		}
		records = append(records, record)
	}
	return records, nil
}

// replay reads what an earlier measurer left, and returns the next holder.
func (s *Store) replay(found *corev1.ConfigMap) ([]measure.Record, measure.Holder, error) {
	next := measure.Holder{Measurer: s.cfg.Measurer, UID: s.cfg.UID, Protocol: measure.Protocol()}
	records, err := readRecords(found.Data)
	if err != nil {
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
	if err := json.Unmarshal([]byte(before), &holder); err != nil {
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
	if found.UID != s.uid {
		return lost(errors.New("the ConfigMap was recreated"))
	}
	var holder measure.Holder
	if err := json.Unmarshal([]byte(found.Data[measure.KeyHolder]), &holder); err != nil {
		return lost(fmt.Errorf("%q cannot be read: %w", measure.KeyHolder, err))
	}
	if holder != s.holder {
		return fmt.Errorf("%w: %q, no longer %q", ErrSuperseded, holder.Measurer, s.holder.Measurer)
	}
	for key, value := range s.known {
		if (key == measure.KeyDigest || strings.HasPrefix(key, measure.KeyTrialPrefix)) && found.Data[key] != value {
			return lost(fmt.Errorf("key %q was changed", key))
		}
	}
	return nil
}

// checkSize refuses what would not fit, before the API server does.
func (s *Store) checkSize(changes map[string]string) error {
	total := 0
	add := func(data map[string]string) {
		for key, value := range data {
			total += len(key) + len(value)
		}
	}
	add(s.known)
	add(s.pending)
	add(changes)
	if total <= MaximumBytes {
		return nil
	}
	return tooLarge(fmt.Errorf("%d trials take %d bytes, more than the %d that fit into one ConfigMap",
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
		Remedy: "make the run again, and leave its results' ConfigMap alone",
	}
}

func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// decode reads what this package wrote. It returns the zero value for what it cannot read.
func decode[T any](text string) T {
	var value T
	_ = json.Unmarshal([]byte(text), &value)
	return value
}
