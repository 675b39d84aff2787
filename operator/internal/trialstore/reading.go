package trialstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/internal/measure"
)

const (
	// maximumReadBytes is what head and chunks may have together to be read. It is more than a measurer stores,
	// and what the API server takes as one ConfigMap.
	maximumReadBytes = 1 << 20
	// maximumTrials is more than fit: the shortest record of a trial has more than 230 bytes.
	maximumTrials = 4000
)

// Get returns a ConfigMap with a closed chunk by its name. If the chunk was read before, uid is that of its
// ConfigMap, and Get may return nil to say that this one still exists. It returns an Unanswered error if a
// request failed and says nothing about the chunk.
type Get func(name string, uid types.UID) (*corev1.ConfigMap, error)

// Unanswered is an error of the API server while a chunk is read, which says nothing about the results.
type Unanswered struct{ Err error }

func (u Unanswered) Error() string { return u.Err.Error() }

func (u Unanswered) Unwrap() error { return u.Err }

// Reading is what was read of the results of one run. It keeps what it has decoded, so that the next Read
// decodes only what is new. The zero value has read nothing.
type Reading struct {
	chunks  []closed
	records []measure.Record
	// sizes are what each of the records takes in memory.
	sizes []int
	// texts are those that the records of the head were decoded from.
	texts map[int]string
	bytes int
}

// closed is a chunk that was read.
type closed struct {
	measure.Chunk
	uid types.UID
}

// Bytes returns what it keeps takes in memory.
func (r *Reading) Bytes() int { return r.bytes }

// Chunks returns the chunks that were read.
func (r *Reading) Chunks() []measure.Chunk {
	chunks := make([]measure.Chunk, len(r.chunks))
	for i := range r.chunks {
		chunks[i] = r.chunks[i].Chunk
	}
	return chunks
}

// Read returns the records of the results, in their order: those of the chunks that the head lists, which get
// returns, and those of the head. It refuses gaps, as a measurement with a trial missing is another
// measurement, and what no measurer stores. The caller must not change the records. After an error, nothing
// is kept, unless get was Unanswered: the next Read continues with the chunks that were read.
func (r *Reading) Read(head *corev1.ConfigMap, get Get) ([]measure.Record, error) {
	next, err := r.read(head, get)
	switch unanswered := (Unanswered{}); {
	case errors.As(err, &unanswered):
		if len(next.chunks) > len(r.chunks) {
			*r = next
		}
		return nil, err
	case err != nil:
		*r = Reading{}
		return nil, err
	}
	*r = next
	return r.records, nil
}

func (r *Reading) read(head *corev1.ConfigMap, get Get) (Reading, error) {
	next := Reading{texts: map[int]string{}}
	chunks, err := listed(head.Data)
	if err != nil {
		return next, err
	}
	stored, count := measure.Bytes(head.Data), 0
	for i, chunk := range chunks {
		if chunk.Trials < 1 || chunk.Trials > maximumTrials-count || chunk.Bytes < 1 || chunk.Bytes > maximumReadBytes-stored {
			return next, fmt.Errorf("chunk %d of %q cannot have %d trials and %d bytes", i, measure.KeyChunks, chunk.Trials, chunk.Bytes)
		}
		stored, count = stored+chunk.Bytes, count+chunk.Trials
	}
	for i, chunk := range chunks {
		if err := r.readChunk(&next, measure.ChunkName(head.Name, i), chunk, get); err != nil {
			return next, err
		}
	}
	trials := map[string]string{}
	for key, value := range head.Data {
		if strings.HasPrefix(key, measure.KeyTrialPrefix) {
			trials[key] = value
		}
	}
	if count += len(trials); count > maximumTrials {
		return next, fmt.Errorf("there are %d trials, and at most %d fit", count, maximumTrials)
	}
	first := len(next.records)
	if err := r.decode(&next, trials); err != nil {
		return next, err
	}
	for index := first; index < len(next.records); index++ {
		next.texts[index] = trials[trialKey(index)]
		next.bytes += len(next.texts[index])
	}
	return next, nil
}

// listed returns the chunks that the data of a head lists.
func listed(data map[string]string) ([]measure.Chunk, error) {
	var chunks []measure.Chunk
	if text, found := data[measure.KeyChunks]; found {
		if err := measure.Unmarshal(text, &chunks); err != nil {
			return nil, fmt.Errorf("%q cannot be read: %w", measure.KeyChunks, err)
		}
	}
	if len(chunks) > measure.MaximumChunks {
		return nil, fmt.Errorf("%q lists %d chunks, and at most %d are made", measure.KeyChunks, len(chunks), measure.MaximumChunks)
	}
	return chunks, nil
}

// readChunk adds the records of the next chunk. An immutable ConfigMap has the same data as long as it
// exists, so it is decoded once.
func (r *Reading) readChunk(next *Reading, name string, chunk measure.Chunk, get Get) error {
	index, first := len(next.chunks), len(next.records)
	var known types.UID
	if index < len(r.chunks) && r.chunks[index].Chunk == chunk && slices.Equal(r.chunks[:index], next.chunks) {
		known = r.chunks[index].uid
	}
	found, err := get(name, known)
	if err != nil {
		return fmt.Errorf("reading chunk %q: %w", name, err)
	}
	if found == nil && known != "" {
		next.chunks = append(next.chunks, r.chunks[index])
		for i := first; i < first+chunk.Trials; i++ {
			next.add(r.records[i], r.sizes[i])
		}
		return nil
	}
	switch {
	case found == nil:
		return fmt.Errorf("chunk %q does not exist", name)
	case found.Immutable == nil || !*found.Immutable || len(found.BinaryData) > 0 || len(found.Data) != chunk.Trials ||
		measure.Bytes(found.Data) != chunk.Bytes || measure.Sum(found.Data) != chunk.Digest:
		return fmt.Errorf("chunk %q is not the one that the measurer closed", name)
	}
	if err := r.decode(next, found.Data); err != nil {
		return fmt.Errorf("chunk %q: %w", name, err)
	}
	next.chunks = append(next.chunks, closed{chunk, found.UID})
	return nil
}

// decode adds records, which follow those that are there. It takes those over that were decoded before
// from the same text.
func (r *Reading) decode(next *Reading, trials map[string]string) error {
	for range len(trials) {
		index := len(next.records)
		text, found := trials[trialKey(index)]
		if !found {
			return fmt.Errorf("%d trials follow %d others, but %q is missing", len(trials), index, trialKey(index))
		}
		if before, known := r.texts[index]; known && before == text {
			next.add(r.records[index], r.sizes[index])
			continue
		}
		var record measure.Record
		if err := measure.Unmarshal(text, &record); err != nil {
			return fmt.Errorf("%q cannot be read: %w", trialKey(index), err)
		}
		if record.Index != index {
			return fmt.Errorf("%q holds record %d", trialKey(index), record.Index)
		}
		size, err := memoryBytes(&record)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not what a measurer stores: %w", trialKey(index), err)
		case size > maxMemoryBytes-next.bytes:
			return fmt.Errorf("the records up to %q take more than %d MiB of memory", trialKey(index), maxMemoryBytes>>20)
		}
		next.add(record, size)
	}
	return nil
}

func (r *Reading) add(record measure.Record, size int) {
	r.records, r.sizes, r.bytes = append(r.records, record), append(r.sizes, size), r.bytes+size
}

// Read returns the records of results that are read once.
func Read(head *corev1.ConfigMap, get Get) ([]measure.Record, error) {
	return new(Reading).Read(head, get)
}

// NoChunks is Get for results that have no chunks.
func NoChunks(string, types.UID) (*corev1.ConfigMap, error) {
	return nil, errors.New("there are no chunks")
}
